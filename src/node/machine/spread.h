// How many cores to take from each node when no single node has enough.
#pragma once

#include <cstddef>
#include <vector>

namespace wq::node::machine {

// For each node of a package the free cores of its caches.
using SpreadPackage = std::vector<std::vector<std::size_t>>;

// How many of the `count` cores each node gives: [package][node]. They touch as few packages as possible,
// then as few nodes, then as few caches; among equals the choice that leaves the largest sum of squares of
// what is free in packages and nodes (so that large holes stay whole). Exact, by dynamic programming: the
// cost of a set is the sum of its nodes' costs. `count` is at most what is free.
std::vector<std::vector<std::size_t>> spread_cores(const std::vector<SpreadPackage>& packages,
                                                   std::size_t count);

}  // namespace wq::node::machine

// Which free cores a task gets.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/machine/layout.h"

namespace wq::node::machine {

// `count` indexes of free cores, ascending, as close together as possible: the window with the smallest span;
// among equals the one in the shortest run of free cores (so that long runs stay whole for wide tasks), then
// the lowest. Empty if fewer than `count` are free or `count` is 0. `free` is in topological order, so near
// indexes share caches and memory.
std::vector<std::size_t> pick_cores(const std::vector<bool>& free, std::size_t count);

// How many cores to take from each node when no single node has enough.

// For each node of a package the free cores of its caches.
using SpreadPackage = std::vector<std::vector<std::size_t>>;

// How many of the `count` cores each node gives: [package][node]. They touch as few packages as possible,
// then as few nodes, then as few caches; among equals the choice that leaves the largest sum of squares of
// what is free in packages and nodes (so that large holes stay whole). Exact, by dynamic programming: the
// cost of a set is the sum of its nodes' costs. `count` is at most what is free.
std::vector<std::vector<std::size_t>> spread_cores(const std::vector<SpreadPackage>& packages,
                                                   std::size_t count);

// The free cores of a machine as a tree of packages, memory nodes and shared caches, and the choice of cores
// that are close together.
//
// Close together: a set touches as few packages as possible, then as few nodes, then as few caches. Among
// equal choices large free groups are preserved: a group in use is preferred to a completely free one, the
// fuller to the emptier, the first to the last.

// How many groups of each kind a set of cores touches: fewer is closer, in this order.
struct Closeness {
    std::size_t packages = 0;
    std::size_t nodes = 0;
    std::size_t caches = 0;
    auto operator<=>(const Closeness&) const = default;
};

class CorePool {
  public:
    // One CoreGroups per core. A node or cache that spans several packages (or nodes) counts as one in each.
    explicit CorePool(std::vector<CoreGroups> places);

    std::size_t size() const { return leaf_of_.size(); }
    std::size_t free() const { return free_; }
    bool is_free(std::size_t core) const { return is_free_[core]; }
    Closeness closeness(const std::vector<std::size_t>& cores) const;

    // Nodes as numbered here, from 0.
    std::size_t nodes() const { return nodes_.size(); }
    std::size_t free_in(std::size_t node) const { return nodes_[node].free; }
    std::size_t node_of(std::size_t core) const { return leaves_[leaf_of_[core]].parent; }
    std::size_t package_of_node(std::size_t node) const { return nodes_[node].parent; }
    std::vector<std::size_t> nodes_at(int place_node) const;  // those of this CoreGroups::node

    // Takes `count` cores, at most free() (within the node: free_in()), and appends them to `taken`.
    void take(std::size_t count, std::vector<std::size_t>& taken);
    void take_in(std::size_t node, std::size_t count, std::vector<std::size_t>& taken);
    void give_back(std::size_t core);

  private:
    struct Group {
        std::size_t parent = 0;
        std::size_t size = 0;
        std::size_t free = 0;
        std::vector<std::size_t> children;  // groups; in a leaf: cores
    };
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    std::size_t best_leaf(std::size_t count) const;
    std::size_t best_leaf_in(const Group& node, std::size_t count) const;
    std::size_t best_node(std::size_t count) const;
    std::size_t caches_for(const Group& node, std::size_t count) const;
    void take_in_leaf(std::size_t leaf, std::size_t count, std::vector<std::size_t>& taken);
    void spread(std::size_t count, std::vector<std::size_t>& taken);
    enum class Becomes : std::uint8_t { free, taken };
    void count_change(std::size_t core, Becomes becomes);

    std::vector<CoreGroups> places_;
    std::vector<Group> packages_;
    std::vector<Group> nodes_;
    std::vector<Group> leaves_;
    std::vector<std::size_t> leaf_of_;  // per core
    std::vector<bool> is_free_;         // per core
    std::size_t free_ = 0;
};

}  // namespace wq::node::machine

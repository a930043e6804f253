// Which free cores a task gets.
#pragma once

#include <cstddef>
#include <vector>

namespace wq::node::machine {

// `count` indexes of free cores, ascending, as close together as possible: the window with the smallest span;
// among equals the one in the shortest run of free cores (so that long runs stay whole for wide tasks), then
// the lowest. Empty if fewer than `count` are free or `count` is 0. `free` is in topological order, so near
// indexes share caches and memory.
std::vector<std::size_t> pick_cores(const std::vector<bool>& free, std::size_t count);

}  // namespace wq::node::machine

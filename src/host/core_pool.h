// The free cores of a machine as a tree of packages, memory nodes and shared caches, from which sets of cores
// that stand close together are taken.
//
// Close together: a set touches as few packages as possible, among those as few nodes, among those as few
// caches. Among equals holes stay whole: a group in use goes before one that is wholly free, the fuller one
// before the emptier, the first before the last.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/layout.h"

namespace wq::host {

// How many groups of each kind a set of cores touches: less is closer, in this order.
struct Closeness {
    std::size_t packages = 0;
    std::size_t nodes = 0;
    std::size_t caches = 0;
    auto operator<=>(const Closeness&) const = default;
};

class CorePool {
  public:
    // A core each. A node or cache that reaches over several packages (or nodes) counts as one in each.
    explicit CorePool(std::vector<Place> places);

    std::size_t size() const { return leaf_of_.size(); }
    std::size_t free() const { return free_; }
    bool is_free(std::size_t core) const { return is_free_[core]; }
    Closeness closeness(const std::vector<std::size_t>& cores) const;

    // Nodes as they count here, from 0.
    std::size_t nodes() const { return nodes_.size(); }
    std::size_t free_in(std::size_t node) const { return nodes_[node].free; }
    std::size_t node_of(std::size_t core) const { return leaves_[leaf_of_[core]].parent; }
    std::size_t package_of_node(std::size_t node) const { return nodes_[node].parent; }
    std::vector<std::size_t> nodes_at(int place_node) const;  // those of this Place::node

    // Takes `count`, at most free() (of the node: free_in()), and adds them to `taken`.
    void take(std::size_t count, std::vector<std::size_t>& taken);
    void take_in(std::size_t node, std::size_t count, std::vector<std::size_t>& taken);
    void give_back(std::size_t core);

  private:
    struct Group {
        std::size_t parent = 0;
        std::size_t size = 0;
        std::size_t free = 0;
        std::vector<std::size_t> children;  // groups; of a leaf: cores
    };
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    std::size_t best_leaf(std::size_t count) const;
    std::size_t best_leaf_in(const Group& node, std::size_t count) const;
    std::size_t best_node(std::size_t count) const;
    std::size_t caches_for(const Group& node, std::size_t count) const;
    void take_in_leaf(std::size_t leaf, std::size_t count, std::vector<std::size_t>& taken);
    void spread(std::size_t count, std::vector<std::size_t>& taken);
    void count_change(std::size_t core, bool now_free);

    std::vector<Place> places_;
    std::vector<Group> packages_;
    std::vector<Group> nodes_;
    std::vector<Group> leaves_;
    std::vector<std::size_t> leaf_of_;  // per core
    std::vector<bool> is_free_;         // per core
    std::size_t free_ = 0;
};

}  // namespace wq::host

#include "node/machine/core_pool.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace wq::node::machine {

namespace {

// For every core the length of its run of free cores.
std::vector<std::size_t> run_lengths(const std::vector<bool>& free) {
    std::vector<std::size_t> lengths(free.size(), 0);
    for (std::size_t begin = 0; begin < free.size();) {
        std::size_t end = begin;
        while (end < free.size() && free[end]) ++end;
        for (std::size_t i = begin; i < end; ++i) lengths[i] = end - begin;
        begin = end + 1;
    }
    return lengths;
}

}  // namespace

std::vector<std::size_t> pick_cores(const std::vector<bool>& free, std::size_t count) {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < free.size(); ++i)
        if (free[i]) candidates.push_back(i);
    if (count == 0 || candidates.size() < count) return {};

    const std::vector<std::size_t> runs = run_lengths(free);
    std::size_t best = 0;
    auto merit = [&](std::size_t at) {
        return std::make_tuple(candidates[at + count - 1] - candidates[at], runs[candidates[at]]);
    };
    for (std::size_t at = 1; at + count <= candidates.size(); ++at)
        if (merit(at) < merit(best)) best = at;
    const auto first = candidates.begin() + static_cast<std::ptrdiff_t>(best);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
}

namespace {

// One number that compares like (packages, nodes, caches, holes broken), and adds like it. Exact for 23,000
// cores in 1,000 packages, 2,000 nodes and 8,000 caches; beyond that a choice is valid, but perhaps not the
// closest.
using Cost = std::uint64_t;
constexpr Cost hole_unit = 1;
constexpr Cost cache_unit = hole_unit << 30;
constexpr Cost node_unit = cache_unit << 13;
constexpr Cost package_unit = node_unit << 11;

// The costs of taking `low`, `low` + 1, ... cores.
struct Costs {
    std::size_t low = 0;
    std::vector<Cost> of;
    std::size_t high() const { return low + of.size() - 1; }
};

// By how much taking `count` of `free` lowers the square of what is free.
Cost broken(std::size_t free, std::size_t count) {
    return hole_unit * (2 * free - count) * count;
}

Costs node_costs(std::vector<std::size_t> caches, std::size_t most) {
    std::sort(caches.begin(), caches.end(), std::greater<>());
    const std::size_t free = std::accumulate(caches.begin(), caches.end(), std::size_t{0});
    Costs costs{0, std::vector<Cost>(std::min(free, most) + 1, 0)};
    std::size_t used = 0;
    std::size_t holds = 0;
    for (std::size_t count = 1; count < costs.of.size(); ++count) {
        if (count > holds) holds += caches[used++];
        costs.of[count] = node_unit + used * cache_unit + broken(free, count);
    }
    return costs;
}

// The groups so far: their total cost, and how many cores each gives for it.
struct Sum {
    Costs costs{0, {0}};
    struct Gives {
        std::size_t low;
        std::vector<std::size_t> of;
    };
    std::vector<Gives> gives;

    // Adds a group; only sums from `low` to `high` cores are wanted.
    void add(const Costs& group, std::size_t low, std::size_t high) {
        high = std::min(high, costs.high() + group.high());
        low = std::max(low, costs.low + group.low);
        Costs best{low, std::vector<Cost>(high - low + 1)};
        Gives& give = gives.emplace_back(Gives{low, std::vector<std::size_t>(high - low + 1)});
        for (std::size_t total = low; total <= high; ++total) {
            std::size_t here = std::max(group.low, total - std::min(total, costs.high()));
            const std::size_t last = std::min(group.high(), total - costs.low);
            std::size_t chosen = here;
            Cost least = costs.of[total - here - costs.low] + group.of[here - group.low];
            for (++here; here <= last; ++here) {
                const Cost cost = costs.of[total - here - costs.low] + group.of[here - group.low];
                if (cost >= least) continue;
                least = cost;
                chosen = here;
            }
            best.of[total - low] = least;
            give.of[total - low] = chosen;
        }
        costs = std::move(best);
    }
    std::vector<std::size_t> split(std::size_t count) const {
        std::vector<std::size_t> parts(gives.size());
        for (std::size_t group = gives.size(); group-- > 0;) {
            parts[group] = gives[group].of[count - gives[group].low];
            count -= parts[group];
        }
        return parts;
    }
};

std::size_t less(std::size_t from, std::size_t amount) {
    return from > amount ? from - amount : 0;
}

std::size_t free_of(const SpreadPackage& package) {
    std::size_t free = 0;
    for (const auto& caches : package) free = std::accumulate(caches.begin(), caches.end(), free);
    return free;
}

// The sum for taking from `low` to `high` cores of a package.
Sum package_sum(const SpreadPackage& package, std::size_t low, std::size_t high) {
    Sum sum;
    std::size_t to_come = free_of(package);
    for (const auto& caches : package) {
        to_come -= std::accumulate(caches.begin(), caches.end(), std::size_t{0});
        sum.add(node_costs(caches, high), less(low, to_come), high);
    }
    return sum;
}

Costs package_costs(const Sum& sum, std::size_t free) {
    Costs costs = sum.costs;
    for (std::size_t taken = std::max<std::size_t>(costs.low, 1); taken <= costs.high(); ++taken)
        costs.of[taken - costs.low] += package_unit + broken(free, taken);
    return costs;
}

}  // namespace

std::vector<std::vector<std::size_t>> spread_cores(const std::vector<SpreadPackage>& packages,
                                                   std::size_t count) {
    std::vector<std::vector<std::size_t>> amounts;
    std::vector<std::size_t> free;
    for (const SpreadPackage& package : packages) {
        free.push_back(free_of(package));
        amounts.emplace_back(package.size(), 0);
    }
    if (packages.empty()) return amounts;

    // If one package has room for all, two need not be tried.
    std::size_t best = packages.size();
    Cost least = 0;
    for (std::size_t at = 0; at < packages.size(); ++at) {
        if (free[at] < count) continue;
        const Sum sum = package_sum(packages[at], count, count);
        const Cost cost = package_costs(sum, free[at]).of.front();
        if (best != packages.size() && cost >= least) continue;
        best = at;
        least = cost;
        std::fill(amounts.begin(), amounts.end(), std::vector<std::size_t>());
        amounts[at] = sum.split(count);
    }
    if (best != packages.size()) {
        for (std::size_t at = 0; at < packages.size(); ++at) amounts[at].resize(packages[at].size(), 0);
        return amounts;
    }

    const std::size_t all = std::accumulate(free.begin(), free.end(), std::size_t{0});
    std::size_t to_come = all;
    Sum machine;
    std::vector<Sum> sums;
    for (std::size_t at = 0; at < packages.size(); ++at) {
        to_come -= free[at];
        sums.push_back(package_sum(packages[at], less(count, all - free[at]), std::min(count, free[at])));
        machine.add(package_costs(sums.back(), free[at]), less(count, to_come), count);
    }
    const std::vector<std::size_t> parts = machine.split(count);
    for (std::size_t at = 0; at < packages.size(); ++at) amounts[at] = sums[at].split(parts[at]);
    return amounts;
}

namespace {

// Groups of one core each tell nothing about proximity: a virtual machine may have a package per core.
template <class Member>
void forget_if_single(std::vector<CoreGroups>& places, Member CoreGroups::*member) {
    std::map<Member, std::size_t> sizes;
    for (const CoreGroups& place : places) ++sizes[place.*member];
    if (std::all_of(sizes.begin(), sizes.end(), [](const auto& group) { return group.second == 1; }))
        for (CoreGroups& place : places) place.*member = 0;
}

}  // namespace

CorePool::CorePool(std::vector<CoreGroups> places)
    : places_(std::move(places)), leaf_of_(places_.size()), is_free_(places_.size(), true) {
    std::vector<CoreGroups> used = places_;
    forget_if_single(used, &CoreGroups::package);
    forget_if_single(used, &CoreGroups::node);
    forget_if_single(used, &CoreGroups::cache);
    std::map<int, std::size_t> package_numbers;
    std::map<std::pair<int, int>, std::size_t> node_numbers;
    std::map<CoreGroups, std::size_t> leaf_numbers;
    for (std::size_t core = 0; core < used.size(); ++core) {
        const CoreGroups& place = used[core];
        const auto [package, new_package] = package_numbers.try_emplace(place.package, packages_.size());
        if (new_package) packages_.emplace_back();
        const auto [node, new_node] = node_numbers.try_emplace({place.package, place.node}, nodes_.size());
        if (new_node) {
            nodes_.emplace_back().parent = package->second;
            packages_[package->second].children.push_back(node->second);
        }
        const auto [leaf, new_leaf] = leaf_numbers.try_emplace(place, leaves_.size());
        if (new_leaf) {
            leaves_.emplace_back().parent = node->second;
            nodes_[node->second].children.push_back(leaf->second);
        }
        leaves_[leaf->second].children.push_back(core);
        leaf_of_[core] = leaf->second;
        ++leaves_[leaf->second].size;
        ++nodes_[node->second].size;
        ++packages_[package->second].size;
        count_change(core, Becomes::free);
    }
}

void CorePool::count_change(std::size_t core, Becomes becomes) {
    const bool now_free = becomes == Becomes::free;
    const auto change = [now_free](std::size_t& count) { now_free ? ++count : --count; };
    Group& leaf = leaves_[leaf_of_[core]];
    Group& node = nodes_[leaf.parent];
    change(leaf.free);
    change(node.free);
    change(packages_[node.parent].free);
    change(free_);
    is_free_[core] = now_free;
}

void CorePool::give_back(std::size_t core) {
    if (!is_free_[core]) count_change(core, Becomes::free);
}

Closeness CorePool::closeness(const std::vector<std::size_t>& cores) const {
    std::set<std::size_t> packages;
    std::set<std::size_t> nodes;
    std::set<std::size_t> leaves;
    for (const std::size_t core : cores) {
        leaves.insert(leaf_of_[core]);
        nodes.insert(node_of(core));
        packages.insert(package_of_node(node_of(core)));
    }
    return {packages.size(), nodes.size(), leaves.size()};
}

std::vector<std::size_t> CorePool::nodes_at(int place_node) const {
    std::set<std::size_t> found;
    for (std::size_t core = 0; core < places_.size(); ++core)
        if (places_[core].node == place_node) found.insert(node_of(core));
    return {found.begin(), found.end()};
}

namespace {

// Whether taking `count` cores would break a group that is completely free.
template <class Group>
bool breaks(const Group& group, std::size_t count) {
    return group.free == group.size && count < group.size;
}

}  // namespace

std::size_t CorePool::best_leaf(std::size_t count) const {
    std::size_t best = none;
    std::tuple<bool, bool, bool, std::size_t> least;
    for (std::size_t at = 0; at < leaves_.size(); ++at) {
        const Group& leaf = leaves_[at];
        if (leaf.free < count) continue;
        const Group& node = nodes_[leaf.parent];
        const Group& package = packages_[node.parent];
        const auto merit = std::make_tuple(breaks(package, count), breaks(node, count), breaks(leaf, count),
                                           leaf.free + node.free + package.free);
        if (best != none && merit >= least) continue;
        best = at;
        least = merit;
    }
    return best;
}

std::size_t CorePool::best_leaf_in(const Group& node, std::size_t count) const {
    std::size_t best = none;
    for (const std::size_t leaf : node.children)
        if (leaves_[leaf].free >= count && (best == none || leaves_[leaf].free < leaves_[best].free))
            best = leaf;
    return best;
}

// The fewest caches that hold `count`: the emptiest first.
std::size_t CorePool::caches_for(const Group& node, std::size_t count) const {
    std::vector<std::size_t> sizes;
    for (const std::size_t leaf : node.children) sizes.push_back(leaves_[leaf].free);
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    std::size_t caches = 0;
    for (std::size_t sum = 0; sum < count; ++caches) sum += sizes[caches];
    return caches;
}

std::size_t CorePool::best_node(std::size_t count) const {
    std::size_t best = none;
    std::tuple<std::size_t, bool, bool, std::size_t> least;
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
        const Group& node = nodes_[at];
        if (node.free < count) continue;
        const Group& package = packages_[node.parent];
        const auto merit = std::make_tuple(caches_for(node, count), breaks(package, count),
                                           breaks(node, count), node.free + package.free);
        if (best != none && merit >= least) continue;
        best = at;
        least = merit;
    }
    return best;
}

void CorePool::take(std::size_t count, std::vector<std::size_t>& taken) {
    if (count == 0) return;
    if (const std::size_t leaf = best_leaf(count); leaf != none) return take_in_leaf(leaf, count, taken);
    if (const std::size_t node = best_node(count); node != none) return take_in(node, count, taken);
    spread(count, taken);
}

void CorePool::take_in(std::size_t at, std::size_t count, std::vector<std::size_t>& taken) {
    const Group& node = nodes_[at];
    while (count > 0) {
        std::size_t leaf = best_leaf_in(node, count);
        if (leaf == none)
            leaf = *std::max_element(
                node.children.begin(), node.children.end(),
                [&](std::size_t one, std::size_t other) { return leaves_[one].free < leaves_[other].free; });
        const std::size_t here = std::min(count, leaves_[leaf].free);
        take_in_leaf(leaf, here, taken);
        count -= here;
    }
}

void CorePool::take_in_leaf(std::size_t at, std::size_t count, std::vector<std::size_t>& taken) {
    const std::vector<std::size_t>& cores = leaves_[at].children;
    std::vector<bool> free(cores.size());
    for (std::size_t i = 0; i < cores.size(); ++i) free[i] = is_free_[cores[i]];
    // Within one cache only the order of cores is known.
    for (const std::size_t index : pick_cores(free, count)) {
        count_change(cores[index], Becomes::taken);
        taken.push_back(cores[index]);
    }
}

void CorePool::spread(std::size_t count, std::vector<std::size_t>& taken) {
    std::vector<SpreadPackage> packages(packages_.size());
    for (std::size_t at = 0; at < packages_.size(); ++at)
        for (const std::size_t node : packages_[at].children) {
            std::vector<std::size_t> caches;
            for (const std::size_t leaf : nodes_[node].children) caches.push_back(leaves_[leaf].free);
            packages[at].push_back(std::move(caches));
        }
    const auto amounts = spread_cores(packages, count);
    for (std::size_t at = 0; at < packages_.size(); ++at)
        for (std::size_t i = 0; i < packages_[at].children.size(); ++i)
            take_in(packages_[at].children[i], amounts[at][i], taken);
}

}  // namespace wq::node::machine

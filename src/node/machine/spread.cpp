#include "node/machine/spread.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

namespace wq::node::machine {

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

}  // namespace wq::node::machine

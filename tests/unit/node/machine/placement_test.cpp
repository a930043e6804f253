#include "node/machine/placement.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "node/machine/core_pool.h"

namespace wq::node::machine::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t all = one_whole;

// Small machines of uneven groups: packages of 1 to 2 nodes with 1 to 2 caches of 1 to 3 cores.
std::vector<CoreGroups> small_machine(std::mt19937& random) {
    const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
    std::vector<CoreGroups> places;
    int node = 0;
    int cache = 0;
    const int packages = up_to(2);
    for (int package = 0; package < packages; ++package)
        for (int nodes = up_to(2); nodes > 0; --nodes, ++node)
            for (int caches = up_to(2); caches > 0; --caches, ++cache)
                for (int cores = up_to(3); cores > 0; --cores) places.push_back({package, node, cache});
    return places;
}

// The minimum over all sets of `count` free cores.
Closeness closest(const CorePool& pool, std::size_t count) {
    std::vector<std::size_t> free;
    for (std::size_t core = 0; core < pool.size(); ++core)
        if (pool.is_free(core)) free.push_back(core);
    Closeness best{1000, 1000, 1000};
    for (unsigned set = 0; set < 1U << free.size(); ++set) {
        if (static_cast<std::size_t>(__builtin_popcount(set)) != count) continue;
        std::vector<std::size_t> cores;
        for (std::size_t i = 0; i < free.size(); ++i)
            if ((set >> i & 1U) != 0) cores.push_back(free[i]);
        best = std::min(best, pool.closeness(cores));
    }
    return best;
}

TEST(CorePool, NoSetOfFreeCoresIsCloser) {
    std::mt19937 random(1);
    std::size_t checked = 0;
    for (int machine = 0; machine < 300; ++machine) {
        const std::vector<CoreGroups> places = small_machine(random);
        if (places.size() > 12) continue;
        CorePool pool(places);
        for (std::size_t core = 0; core < places.size(); ++core) {  // some are in use
            std::vector<std::size_t> taken;
            if (random() % 3 == 0) pool.take(1, taken);
        }
        std::vector<std::size_t> held;
        pool.take(pool.free(), held);
        for (const std::size_t core : held)
            if (random() % 4 != 0) pool.give_back(core);
        for (std::size_t count = 1; count <= pool.free(); ++count, ++checked) {
            const Closeness best = closest(pool, count);
            std::vector<std::size_t> taken;
            CorePool(pool).take(count, taken);
            ASSERT_EQ(std::set<std::size_t>(taken.begin(), taken.end()).size(), count);
            for (const std::size_t core : taken) ASSERT_TRUE(pool.is_free(core));
            const Closeness ours = pool.closeness(taken);
            ASSERT_TRUE(ours == best)
                << "machine " << machine << ", " << count << " cores: " << ours.packages << " packages, "
                << ours.nodes << " nodes, " << ours.caches << " caches; best " << best.packages << ", "
                << best.nodes << ", " << best.caches;
        }
    }
    EXPECT_GT(checked, 500U);
}

std::vector<CoreGroups> even(int packages, int nodes, int caches, int cores) {
    std::vector<CoreGroups> places;
    for (int core = 0; core < packages * nodes * caches * cores; ++core) {
        const int cache = core / cores;
        places.push_back({cache / caches / nodes, cache / caches, cache});
    }
    return places;
}

std::vector<std::size_t> take(CorePool& pool, std::size_t count) {
    std::vector<std::size_t> taken;
    pool.take(count, taken);
    std::sort(taken.begin(), taken.end());
    return taken;
}

TEST(CorePool, WholeGroupsStayWholeWhileAnotherHasRoom) {
    CorePool pool(even(2, 2, 2, 4));
    EXPECT_THAT(take(pool, 1), ElementsAre(0));
    EXPECT_THAT(take(pool, 4), ElementsAre(4, 5, 6, 7));  // the neighbouring cache, not another node's
    EXPECT_THAT(take(pool, 8), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
    EXPECT_THAT(take(pool, 2), ElementsAre(1, 2));  // the hole that fits
    EXPECT_THAT(take(pool, 16), SizeIs(16));        // the other package is whole
    EXPECT_THAT(take(pool, 1), ElementsAre(3));
    EXPECT_EQ(pool.free(), 0U);
}

TEST(CorePool, WhatDoesNotFitInOneNodeDrainsTheFullestFirst) {
    CorePool pool(even(1, 3, 1, 4));
    EXPECT_THAT(take(pool, 2), ElementsAre(0, 1));
    EXPECT_THAT(take(pool, 6), ElementsAre(2, 3, 4, 5, 6, 7));  // leaves the third node whole
    EXPECT_THAT(take(pool, 4), ElementsAre(8, 9, 10, 11));
}

TEST(CorePool, GroupsOfOneCoreSayNothing) {
    CorePool pool(even(16, 1, 1, 1));  // as in virtual machines
    EXPECT_THAT(take(pool, 3), ElementsAre(0, 1, 2));
    EXPECT_EQ(pool.closeness({0, 5}), (Closeness{1, 1, 1}));
}

TEST(CorePool, ACacheOverNodesCountsInEach) {
    std::vector<CoreGroups> places(8);
    for (std::size_t core = 0; core < 8; ++core) places[core] = {0, static_cast<int>(core / 4), 0};
    CorePool pool(places);
    EXPECT_EQ(pool.closeness({0, 7}), (Closeness{1, 2, 2}));
    EXPECT_THAT(take(pool, 4), ElementsAre(0, 1, 2, 3));
}

TEST(Spread, TakesAllThatItIsAskedFor) {
    const auto amounts = spread_cores({{{4, 4}, {2}}, {{8}}, {{1, 1}}}, 17);
    std::size_t sum = 0;
    for (const auto& package : amounts)
        for (const std::size_t amount : package) sum += amount;
    EXPECT_EQ(sum, 17U);
    EXPECT_EQ(amounts[2][0], 0U);
    EXPECT_THAT(spread_cores({}, 0), IsEmpty());
}

// (packages, nodes, caches, squares of the holes broken) for an amount per node.
using SpreadCost = std::array<std::size_t, 4>;

SpreadCost cost_of(const std::vector<SpreadPackage>& packages,
                   const std::vector<std::vector<std::size_t>>& amounts) {
    SpreadCost cost{};
    const auto broken = [](std::size_t free, std::size_t taken) {
        return free * free - (free - taken) * (free - taken);
    };
    for (std::size_t package = 0; package < packages.size(); ++package) {
        std::size_t free = 0;
        std::size_t taken = 0;
        for (std::size_t node = 0; node < packages[package].size(); ++node) {
            std::vector<std::size_t> caches = packages[package][node];
            std::sort(caches.rbegin(), caches.rend());
            const std::size_t here = std::accumulate(caches.begin(), caches.end(), std::size_t{0});
            const std::size_t amount = amounts[package][node];
            free += here;
            taken += amount;
            cost[1] += amount > 0 ? 1 : 0;
            std::size_t held = 0;
            for (std::size_t cache = 0; held < amount; ++cache) held += caches[cache], ++cost[2];
            cost[3] += broken(here, amount);
        }
        cost[0] += taken > 0 ? 1 : 0;
        cost[3] += broken(free, taken);
    }
    return cost;
}

// The minimum cost of taking `left` cores from the nodes `at` and later.
SpreadCost least_cost(const std::vector<SpreadPackage>& packages,
                      std::vector<std::vector<std::size_t>>& amounts, std::size_t package, std::size_t node,
                      std::size_t left) {
    if (package == packages.size()) return left == 0 ? cost_of(packages, amounts) : SpreadCost{1000};
    if (node == packages[package].size()) return least_cost(packages, amounts, package + 1, 0, left);
    const auto& caches = packages[package][node];
    const std::size_t free = std::accumulate(caches.begin(), caches.end(), std::size_t{0});
    SpreadCost best{1000};
    for (std::size_t amount = 0; amount <= std::min(free, left); ++amount) {
        amounts[package][node] = amount;
        best = std::min(best, least_cost(packages, amounts, package, node + 1, left - amount));
    }
    amounts[package][node] = 0;
    return best;
}

TEST(Spread, NoOtherWayIsCloserOrLeavesLargerHoles) {
    std::mt19937 random(3);
    for (int round = 0; round < 150; ++round) {
        std::vector<SpreadPackage> packages(1 + random() % 3);
        std::vector<std::vector<std::size_t>> amounts;
        std::size_t free = 0;
        for (SpreadPackage& package : packages) {
            package.resize(1 + random() % 2);
            for (auto& node : package) {
                node.resize(1 + random() % 2);
                for (std::size_t& cache : node) free += cache = random() % 4;
            }
            amounts.emplace_back(package.size(), 0);
        }
        for (std::size_t count = 0; count <= free; ++count) {
            const auto ours = spread_cores(packages, count);
            ASSERT_EQ(cost_of(packages, ours), least_cost(packages, amounts, 0, 0, count))
                << "round " << round << ", " << count << " cores";
        }
    }
}

// Every thousandth belongs to a task or is free.
class Books {
  public:
    explicit Books(std::size_t cores, std::size_t gpus) : cores_(cores, 0), gpus_(gpus, 0) {}
    void add(const Seat& seat, const Ask& ask, std::int64_t sign) {
        std::int64_t sum = 0;
        for (const std::size_t core : seat.cores) {
            const bool part = seat.core_part.thousandths > 0 && seat.core_part.index == core;
            const std::int64_t amount = part ? seat.core_part.thousandths : all;
            // Whole cores are not shared.
            EXPECT_TRUE(sign < 0 || part || cores_[core] == 0);
            cores_[core] += sign * amount;
            sum += amount;
            EXPECT_LE(cores_[core], all);
        }
        EXPECT_EQ(sum, ask.cores);
        sum = 0;
        for (const std::size_t gpu : seat.gpus) {
            const bool part = seat.gpu_part.thousandths > 0 && seat.gpu_part.index == gpu;
            gpus_[gpu] += sign * (part ? seat.gpu_part.thousandths : all);
            sum += part ? seat.gpu_part.thousandths : all;
            EXPECT_LE(gpus_[gpu], all);
        }
        EXPECT_EQ(sum, ask.gpus);
        EXPECT_EQ(std::set<std::size_t>(seat.cores.begin(), seat.cores.end()).size(), seat.cores.size());
        EXPECT_TRUE(std::is_sorted(seat.cores.begin(), seat.cores.end()));
    }
    std::int64_t used_cores() const { return std::accumulate(cores_.begin(), cores_.end(), std::int64_t{0}); }
    std::int64_t used_gpus() const { return std::accumulate(gpus_.begin(), gpus_.end(), std::int64_t{0}); }

  private:
    std::vector<std::int64_t> cores_;
    std::vector<std::int64_t> gpus_;
};

TEST(Placement, NothingIsGivenTwiceAndNothingIsLost) {
    std::mt19937 random(7);
    const auto below = [&](unsigned end) { return static_cast<std::int64_t>(random() % end); };
    for (int round = 0; round < 40; ++round) {
        const std::vector<CoreGroups> places = small_machine(random);
        std::vector<int> gpu_nodes;
        for (std::int64_t gpus = below(5); gpus > 0; --gpus)
            gpu_nodes.push_back(static_cast<int>(below(5)) - 1);  // unknown ones and some without a core too
        Placement placement(places, gpu_nodes);
        Books books(places.size(), gpu_nodes.size());
        std::vector<std::pair<Seat, Ask>> seats;
        for (int step = 0; step < 400; ++step) {
            if (!seats.empty() && below(2) == 0) {
                const auto at = static_cast<std::size_t>(below(static_cast<unsigned>(seats.size())));
                placement.give_back(seats[at].first);
                books.add(seats[at].first, seats[at].second, -1);
                seats.erase(seats.begin() + static_cast<std::ptrdiff_t>(at));
            } else {
                const std::int64_t wide = below(4) * all;
                const Ask ask{below(2) == 0 ? wide : wide + below(1000), below(3) == 0 ? below(2500) : 0};
                if (auto seat = placement.take(ask)) {
                    books.add(*seat, ask, 1);
                    seats.emplace_back(std::move(*seat), ask);
                }
            }
            ASSERT_EQ(placement.free_cores() + books.used_cores(),
                      all * static_cast<std::int64_t>(places.size()));
            ASSERT_EQ(placement.free_gpus() + books.used_gpus(),
                      all * static_cast<std::int64_t>(gpu_nodes.size()));
        }
        for (const auto& [seat, ask] : seats) placement.give_back(seat);
        const Ask everything{all * static_cast<std::int64_t>(places.size()),
                             all * static_cast<std::int64_t>(gpu_nodes.size())};
        EXPECT_TRUE(placement.take(everything)) << "round " << round;
    }
}

TEST(Placement, WhatFitsByAmountIsTaken) {
    Placement placement(even(1, 1, 1, 2));
    EXPECT_FALSE(placement.take({3 * all, 0}));
    EXPECT_FALSE(placement.take({all, 1}));
    EXPECT_TRUE(placement.take({0, 0}));
    EXPECT_TRUE(placement.take({-5, -5}));
    const auto half = placement.take({500, 0});
    EXPECT_TRUE(placement.take({all, 0}));
    EXPECT_FALSE(placement.take({all, 0}));
    EXPECT_FALSE(placement.take({501, 0}));
    EXPECT_TRUE(placement.take({500, 0}));
    placement.give_back(*half);
    EXPECT_TRUE(placement.take({250, 0}));
    EXPECT_EQ(placement.free_cores(), 250);
}

TEST(Placement, FractionsShareTheFullestCoreThatHasRoom) {
    Placement placement(even(1, 2, 1, 2));
    const auto first = placement.take({600, 0});
    const auto second = placement.take({500, 0});  // does not fit beside the first
    const auto third = placement.take({300, 0});
    EXPECT_EQ(third->cores, first->cores);  // 400 were left there, 500 on the second's
    EXPECT_NE(second->cores, first->cores);
    EXPECT_EQ(placement.pool().free(), 2U);
    const auto wide = placement.take({2500, 0});  // its half beside the second
    EXPECT_THAT(wide->cores, SizeIs(3));
    EXPECT_EQ(wide->core_part.index, second->cores.front());
    EXPECT_EQ(placement.pool().free(), 0U);
}

TEST(Placement, AGpuComesWithCoresOfItsNode) {
    Placement placement(even(2, 2, 1, 4), {0, 1, 2, 3});
    for (int task = 0; task < 4; ++task) {
        const auto seat = placement.take({3 * all, all});
        ASSERT_TRUE(seat);
        ASSERT_THAT(seat->gpus, SizeIs(1));
        for (const std::size_t core : seat->cores)
            EXPECT_EQ(core / 4, seat->gpus.front()) << "the machine's nodes have 4 cores, and each its GPU";
    }
    EXPECT_TRUE(placement.take({4 * all, 0}));  // one of each node is left
}

TEST(Placement, ATaskOfSeveralGpusHasAShareOfItsCoresAtEach) {
    Placement placement(even(2, 1, 1, 8), {0, 1});
    const auto seat = placement.take({4 * all, 2 * all});
    ASSERT_TRUE(seat);
    std::map<std::size_t, int> at;
    for (const std::size_t core : seat->cores) ++at[core / 8];
    EXPECT_EQ(at[0], 2);
    EXPECT_EQ(at[1], 2);
}

TEST(Placement, GpusOfOneTaskAreInOnePackage) {
    Placement placement(even(2, 2, 1, 4), {0, 1, 2, 3});
    ASSERT_THAT(placement.take({all, all})->gpus, ElementsAre(0));
    EXPECT_THAT(placement.take({all, 2 * all})->gpus, ElementsAre(2, 3));
    EXPECT_THAT(placement.take({all, all})->gpus, ElementsAre(1));
}

TEST(Placement, ACoreThatBecomesSharedIsNearItsTasksOthers) {
    Placement placement(even(1, 2, 1, 4));
    ASSERT_TRUE(placement.take({2 * all, 0}));
    const auto seat = placement.take({2500, 0});  // leaves two cores of the first node, which is too few
    EXPECT_THAT(seat->cores, ElementsAre(4, 5, 6));
    EXPECT_EQ(seat->core_part.thousandths, 500);
}

TEST(Placement, WhereItsNodeIsFullAGpuTakesWhatIsNext) {
    Placement placement(even(2, 2, 1, 4), {1});
    ASSERT_TRUE(placement.take({2 * all, 0}));  // of node 0
    const auto seat = placement.take({6 * all, all});
    ASSERT_TRUE(seat);
    EXPECT_THAT(seat->cores, ElementsAre(2, 3, 4, 5, 6, 7));  // its node, then its package
}

TEST(Placement, OfTwoGpusTheOneWithFreeCoresIsTaken) {
    Placement placement(even(1, 2, 1, 4), {0, 1});
    ASSERT_TRUE(placement.take({3 * all, 0}));
    const auto seat = placement.take({2 * all, all});
    ASSERT_TRUE(seat);
    EXPECT_THAT(seat->gpus, ElementsAre(1));
    EXPECT_THAT(seat->cores, ElementsAre(4, 5));
}

TEST(Placement, GpusOfNoNodeAreAsGoodAsAny) {
    Placement placement(even(1, 2, 1, 4), {-1, 7});
    const auto seat = placement.take({5 * all, 2 * all});
    ASSERT_TRUE(seat);
    EXPECT_THAT(seat->cores, SizeIs(5));
    EXPECT_THAT(seat->gpus, ElementsAre(0, 1));
}

}  // namespace
}  // namespace wq::node::machine::test

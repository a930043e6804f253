#include "factory/sizing.h"

#include <gtest/gtest.h>

#include <random>

namespace wq::factory {
namespace {

engine::model::Needs needs(std::int64_t cores, std::int64_t memory_mb = -1, std::int64_t gpus = -1) {
    return {.cores = cores, .memory_mb = memory_mb, .gpus = gpus};
}

Demand tasks(std::uint64_t count, const engine::model::Needs& what = {}) {
    return {what, count, count};
}

constexpr engine::model::Resources node{8, 16000, 100'000, 0};

struct Case {
    const char* what;
    std::vector<Demand> demand;
    engine::model::Resources size;
    Supply supply;
    PoolLimits limits;
    Decision expected;
};

// The test's name has no addresses of this build.
void PrintTo(const Case& given, std::ostream* out) {
    *out << given.what;
}

class Sizing : public ::testing::TestWithParam<Case> {};

TEST_P(Sizing, Decides) {
    const Case& given = GetParam();
    const Decision decision = decide(given.demand, given.size, given.supply, given.limits);
    EXPECT_EQ(decision, given.expected)
        << given.what << ": wanted " << decision.wanted << ", submit " << decision.submit << ", remove "
        << decision.remove << ", unfit " << decision.unfit;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Sizing,
    ::testing::Values(
        Case{"no work: the minimum", {}, {}, {}, {}, {.wanted = 5, .submit = 5}},
        Case{"no work and no minimum", {}, {}, {}, {.least = 0}, {}},
        Case{"a worker of unknown size runs one task",
             {tasks(7)},
             {},
             {},
             {.least = 0},
             {.wanted = 7, .submit = 5}},
        Case{"remote tasks, one for each core",
             {tasks(20, {.memory_mb = 9000, .coprocesses = 1})},
             node,
             {},
             {.least = 0},
             {.wanted = 3, .submit = 3}},
        Case{"few at once", {tasks(50)}, {}, {.starting = 2, .pending = 2}, {}, {.wanted = 50, .submit = 1}},
        Case{"none while enough are unconnected", {tasks(50)}, {}, {.pending = 9}, {}, {.wanted = 50}},
        Case{
            "all at once", {tasks(50)}, {}, {.pending = 9}, {.unconnected = 0}, {.wanted = 50, .submit = 41}},
        Case{"the maximum", {tasks(1'000'000'000)}, {}, {.connected = 97}, {}, {.wanted = 100, .submit = 3}},
        Case{"tasks of one core", {tasks(17, needs(1))}, node, {}, {.least = 0}, {.wanted = 3, .submit = 3}},
        Case{"tasks that say more than the worker's size does",
             {tasks(8, needs(1, 8000))},
             {4, 0, 0, 0},
             {},
             {.least = 0},
             {.wanted = 2, .submit = 2}},
        Case{"a size that names memory alone",
             {tasks(8, needs(1, 8000))},
             {0, 16000, 0, 0},
             {},
             {.least = 0},
             {.wanted = 4, .submit = 4}},
        Case{"tasks with a GPU, workers without",
             {tasks(8, needs(1, -1, 1))},
             {4, 0, 0, 0},
             {},
             {.least = 0},
             {.unfit = 8}},
        Case{"tasks that take memory",
             {tasks(8, needs(1, 8000))},
             node,
             {},
             {.least = 0},
             {.wanted = 4, .submit = 4}},
        Case{"tasks that say nothing take a worker",
             {tasks(3)},
             node,
             {},
             {.least = 0},
             {.wanted = 3, .submit = 3}},
        Case{"different ones share",
             {tasks(4, needs(1)), tasks(2, needs(2))},
             node,
             {},
             {.least = 0},
             {.wanted = 1, .submit = 1}},
        Case{"some are too large",
             {tasks(4, needs(1)), tasks(9, needs(16))},
             node,
             {},
             {.least = 0},
             {.wanted = 1, .submit = 1, .unfit = 9}},
        Case{"GPUs that no worker has", {tasks(4, needs(1, -1, 1))}, node, {}, {.least = 0}, {.unfit = 4}},
        Case{"tasks for others' workers, where most run",
             {{needs(1, -1, 1), 4, 1}},
             node,
             {},
             {.least = 0},
             {.unfit = 1}},
        Case{"so many as the user says",
             {tasks(40, needs(1))},
             node,
             {},
             {.least = 0, .tasks_per_worker = 20},
             {.wanted = 2, .submit = 2}},
        Case{"others work, too", {tasks(20)}, {}, {.others = 18}, {.least = 0}, {.wanted = 2, .submit = 2}},
        Case{"others do not count against the maximum",
             {tasks(500)},
             {},
             {.others = 50},
             {},
             {.wanted = 100, .submit = 5}},
        Case{"others do all", {tasks(20)}, {}, {.connected = 3, .others = 30}, {.least = 0}, {}},
        Case{"what the managers can serve",
             {tasks(90)},
             {},
             {.connected = 10},
             {.capacity = 12},
             {.wanted = 12, .submit = 2}},
        Case{"less work: pending jobs go",
             {tasks(6)},
             {},
             {.connected = 4, .starting = 1, .pending = 9},
             {},
             {.wanted = 6, .remove = 8}},
        Case{"running workers stay", {}, {}, {.connected = 40}, {.least = 0}, {}},
        Case{"the minimum is above the maximum",
             {tasks(9)},
             {},
             {},
             {.least = 9, .most = 2},
             {.wanted = 2, .submit = 2}}));

// A batch system that starts some of the pending jobs, workers that connect and leave when idle, and work
// that comes and goes.
TEST(SizingHistory, StaysBelowTheMaximumStarvesNobodyAndSettles) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        const auto any = [&](std::int64_t most) {
            return static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1));
        };
        PoolLimits limits{.least = any(5), .most = 1 + any(50), .unconnected = any(6)};
        Supply supply{.others = any(3)};
        std::vector<Demand> demand;
        for (int cycle = 0; cycle < 240; ++cycle) {
            if (cycle < 40 && any(3) == 0)
                demand = {tasks(static_cast<std::uint64_t>(any(200)), needs(1 + any(7))),
                          tasks(static_cast<std::uint64_t>(any(50)), needs(1, any(16000)))};
            const std::int64_t before = supply.connected + supply.starting + supply.pending;
            const Decision decision = decide(demand, node, supply, limits);
            ASSERT_LE(before + decision.submit, std::max(before, limits.most)) << seed;
            ASSERT_TRUE(decision.submit == 0 || decision.remove == 0) << seed;
            ASSERT_LE(decision.remove, supply.pending) << seed;
            supply.pending += decision.submit - decision.remove;
            ASSERT_TRUE(before > 0 || decision.wanted == 0 || decision.submit > 0) << seed << ": starves";
            ASSERT_TRUE(before != decision.wanted || decision.submit + decision.remove == 0)
                << seed << ": unsettled";
            const std::int64_t starts = cycle < 40 ? any(supply.pending) : supply.pending;
            const std::int64_t connects = cycle < 40 ? any(supply.starting) : supply.starting;
            supply.pending -= starts;
            supply.starting += starts - connects;
            supply.connected += connects;
            supply.connected = std::min(supply.connected, std::max(decision.wanted, any(supply.connected)));
        }
        const Decision last = decide(demand, node, supply, limits);
        EXPECT_EQ(last.submit + last.remove, 0) << seed;
        EXPECT_GE(supply.connected, last.wanted) << seed;
    }
}

}  // namespace
}  // namespace wq::factory

// Automatically sized tasks if workers differ, are few, or have more than a task may use.
#include "unit/engine/policies/categories_run.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Resources many_cores{32, 64'000, 1000, 0};
const Resources much_memory{8, 256'000, 1000, 0};

class SizedRun : public CategoriesRun {
  protected:
    // Only the expected workers join, and a task asks only for what it specifies.
    void closed_run(std::uint32_t workers) {
        ReactorOptions closed{.expected_workers = workers};
        closed.monitoring = {.measures = true, .enforces = true};
        options(closed);
    }
    // One task used all cores of the one kind, another more memory than that kind has, and one nothing new.
    void collect_samples() {
        const std::uint64_t on_cores = task_on(1);
        measured(1, on_cores, 1, {.cores = 32'000, .memory = 100, .disk = 1});
        const std::uint64_t on_memory = task_on(2);
        measured(2, on_memory, 1, {.cores = 1000, .memory = 100'000, .disk = 1});
        measured(1, task_on(1), 1, {.cores = 1000, .memory = 100, .disk = 1});
    }
    std::uint64_t task_on(std::uint32_t worker) const {
        return reactor_.workers().find(WorkerId(worker))->leases.begin()->value();
    }
    std::vector<std::string> told() {
        std::vector<std::string> lines;
        take([&](const std::string& line) {
            if (!line.starts_with("lease") && !line.starts_with("category")) lines.push_back(line);
        });
        return lines;
    }
};

TEST_F(SizedRun, WhatNoSingleWorkerHasIsNotAskedFor) {
    closed_run(2);
    say({.mode = AllocationMode::max, .steady_tasks = 1});
    join_with(1, many_cores);
    join_with(2, much_memory);
    add_asking(8);
    collect_samples();
    EXPECT_EQ(reactor_.ledger().count(TaskState::skipped), 0U) << "32 cores and 100 GB are nowhere at once";
    ASSERT_EQ(running(), 2U);
    EXPECT_EQ(given(task_on(1)), many_cores) << "as while samples were collected";
    EXPECT_EQ(given(task_on(2)), much_memory);
    forget_actions();
}

TEST_F(SizedRun, NorWhatTheWorkerThatATaskNamesHasNot) {
    closed_run(2);
    say({.mode = AllocationMode::max, .steady_tasks = 1});
    join_with(1, many_cores);
    join_with(2, much_memory);
    add_asking(2);
    measured(1, task_on(1), 1, {.cores = 32'000, .memory = 100, .disk = 1});
    measured(2, task_on(2), 1, {.cores = 1000, .memory = 100, .disk = 1});
    Shape named;
    named.category = analysis;
    named.workers = {WorkerId(2)};
    event(TasksAdded{{TaskId(2), 1, named, {}}, {}, {}});
    ASSERT_EQ(reactor_.ledger().count(TaskState::skipped), 0U);
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(2), much_memory);
    add_asking(1);
    EXPECT_EQ(given(3).cores, Count(32)) << "of any worker it is asked for";
    forget_actions();
}

TEST_F(SizedRun, WhatIsAskedForFollowsThePool) {
    say({.mode = AllocationMode::max, .steady_tasks = 1});
    join_with(1, many_cores);
    join_with(2, much_memory);
    add_asking(8);
    collect_samples();
    ASSERT_EQ(running(), 2U);
    EXPECT_EQ(given(task_on(1)), many_cores);
    join_with(3, {64, 256'000, 2000, 0});
    ASSERT_EQ(running(), 4U);
    EXPECT_EQ(given(task_on(3)), (Resources{32, 128'000, 1000, 0})) << "one that has what was computed";
    event(WorkerLeft{WorkerId(3), "bye", false});
    measured(1, task_on(1), 1, {.cores = 1000, .memory = 100, .disk = 1});
    EXPECT_EQ(running(), 2U);
    EXPECT_EQ(given(task_on(1)), many_cores);
    forget_actions();
}

// In a closed run no larger worker joins.
TEST_F(SizedRun, WhoFillsTheLargestWorkerOfAClosedRunHasFailed) {
    closed_run(2);
    say({.mode = AllocationMode::max});
    join_with(1, {4, 4000, 400, 0});
    join_with(2, {4, 4000, 400, 0});
    add_asking(1);
    forget_actions();
    exhausts_memory(1, 0, 1, 4100);
    EXPECT_EQ(reactor_.ledger().count(TaskState::failed), 1U);
    EXPECT_TRUE(last_ended_.final);
    ASSERT_TRUE(last_ended_.outcome.measured);
    EXPECT_EQ(last_ended_.outcome.measured->exceeded.memory_mb, 4000);
    EXPECT_THAT(
        told(),
        ElementsAre("0.1 ended for good: out of memory: no worker has 4096 MB memory for another try"));
}

TEST_F(SizedRun, WhereAWorkerHasMoreItIsTriedThere) {
    closed_run(2);
    say({.mode = AllocationMode::max});
    join_with(1, {8, 4000, 400, 0});
    join_with(2, {4, 8000, 400, 0});
    add_asking(1);
    forget_actions();
    exhausts_memory(1, 0, 1, 4100);
    EXPECT_THAT(told(), ElementsAre("0.1 ended: out of memory"));
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(0).memory_mb, 8000);
    exhausts_memory(2, 0, 2, 8100);
    EXPECT_THAT(
        told(),
        ElementsAre("0.2 ended for good: out of memory: no worker has 8064 MB memory for another try"));
}

// Its first allocation proved too small.
TEST_F(SizedRun, TheTryAfterAnExhaustionGetsMoreThanTheOneBefore) {
    say({.first = Sizes{.cores = 1000, .memory_mb = 4000, .disk_mb = 10}, .mode = AllocationMode::max});
    join_with(1, {1, 8000, 400, 0});
    add_asking(1);
    ASSERT_EQ(running(), 1U);
    event(WorkerDraining{WorkerId(1)});
    join_with(2, {16, 1000, 400, 0});
    exhausts_memory(1, 0, 1, 8100);
    EXPECT_EQ(running(), 0U) << "1000 MB are fewer than it had";
    EXPECT_THAT(reactor_.why(TaskId(0), now()), HasSubstr("not now: no worker can hold it"));
    join_with(3, {2, 9000, 400, 0});
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(0), (Resources{2, 9000, 400, 0}));
    forget_actions();
}

// A category that changed with the pool does not jump the queue.
TEST_F(SizedRun, TheMoreUrgentGoFirstWhereAWorkerComes) {
    say({.mode = AllocationMode::max_throughput});
    Shape urgent;
    urgent.needs.cores = 1;
    event(TasksAdded{{TaskId(0), 4, urgent, {}}, {}, {}});
    Shape later;
    later.category = analysis;
    later.priority = -1;
    event(TasksAdded{{TaskId(4), 8, later, {}}, {}, {}});
    forget_actions();
    join_with(1, {2, 1000, 2000, 0});
    const auto leases = [&] {
        std::vector<std::string> lines;
        take([&](const std::string& line) {
            if (line.starts_with("lease")) lines.push_back(line);
        });
        return lines;
    };
    EXPECT_THAT(leases(), ElementsAre("lease 0.1 to 1", "lease 1.1 to 1"));
    ok(1, 0);
    EXPECT_THAT(leases(), ElementsAre("lease 2.1 to 1"));
}

// However many sizes were too small, at the maximum all tries have one shape.
TEST_F(SizedRun, TriesAtAMaximumAreOfOneShape) {
    say({.max = Sizes{.cores = 1000, .memory_mb = 4000, .disk_mb = 10},
         .first = Sizes{.memory_mb = 1000},
         .mode = AllocationMode::max});
    join_with(1, {1, 8000, 400, 0});
    add_asking(50);
    const std::size_t before = reactor_.ledger().shapes();
    for (std::uint64_t task = 0; task < 50; ++task) {
        const std::uint64_t now_there = task_on(1);
        const auto attempt = reactor_.ledger().find_attempted(TaskId(now_there))->attempt;
        exhausts_memory(1, now_there, attempt, static_cast<std::int64_t>(1001 + 50 * task));
    }
    EXPECT_EQ(reactor_.ledger().shapes(), before + 1);
    forget_actions();
}

// The manual: "Tasks in 'my-category-b' will never use more than two cores."
TEST_F(SizedRun, NoTaskIsGivenMoreThanItsCategorysMaximum) {
    say({.max = Sizes{.cores = 2000}, .mode = AllocationMode::max_throughput, .steady_tasks = 1});
    join_with(1, {64, 64'000, 64'000, 0});
    add_asking(20);
    for (std::uint64_t task = 0; task < 2; ++task) {
        ASSERT_EQ(running(), 1U) << "samples are collected with all memory and disk";
        EXPECT_EQ(given(task), (Resources{2, 64'000, 64'000, 0}));
        measured(1, task, 1, {.cores = 2000, .memory = 15'900, .disk = 1});
    }
    ASSERT_EQ(running(), 4U) << "a quarter of the memory each";
    EXPECT_EQ(given(2).cores, Count(2));
    EXPECT_GE(given(2).memory_mb, 16'000);
    add_asking(1, {.cores = 16});
    for (std::uint64_t task = 2; task < 20; ++task) measured(1, task, 1, {.cores = 2000, .memory = 15'900});
    EXPECT_GE(given(20).cores, Count(16)) << "what a task says itself is its own";
    forget_actions();
}

TEST_F(SizedRun, NorWhereAllThatIsFreeIsGivenOut) {
    event(Tuned{.hold_until_workers = {}, .ramps_down = true});
    say({.max = Sizes{.cores = 2000}, .mode = AllocationMode::max_throughput});
    join_with(1, {64, 64'000, 64'000, 0});
    add_asking(1);
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(0), (Resources{2, 64'000, 64'000, 0}));
    forget_actions();
}

// Ranks compute allocations themselves and know no bound.
TEST_F(SizedRun, NorByTicket) {
    ReactorOptions pool{.seal_batches = true};
    pool.allocation.rest = Rest::proportional;
    options(pool);
    const Sizes most{.cores = 2000, .memory_mb = 1000, .disk_mb = 100};
    say({.max = most, .mode = AllocationMode::max});
    event(WorkerJoined{WorkerId(1), "node1", {8, 64'000, 8000, 0}, {}, true});
    add_asking(1000);
    EXPECT_EQ(reactor_.ledger().count(TaskState::sealed), 0U);
    ASSERT_GT(running(), 0U);
    EXPECT_EQ(given(0), (Resources{2, 1000, 100, 0}));
    say({.mode = AllocationMode::fixed});
    ok(1, 0);
    EXPECT_GT(reactor_.ledger().count(TaskState::sealed), 0U) << "where it may get more, it is sealed";
    forget_actions();
}

TEST_F(SizedRun, ALossLimitOfOneLeavesTheTryAtTheMaximum) {
    ReactorOptions once{.max_losses = 1};
    once.monitoring = {.measures = true, .enforces = true};
    options(once);
    say({.max = Sizes{.cores = 1000, .memory_mb = 4000, .disk_mb = 100},
         .first = Sizes{.memory_mb = 500},
         .mode = AllocationMode::max});
    join_with(1, {1, 8000, 400, 0});
    add_asking(1);
    exhausts_memory(1, 0, 1, 600);
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(0).memory_mb, 4000) << "it was lost with no worker";
    measured(1, 0, 2, {.cores = 1000, .memory = 700});
    EXPECT_EQ(reactor_.ledger().count(TaskState::done), 1U);
    add_asking(1);
    event(WorkerLeft{WorkerId(1), "gone", true});
    EXPECT_EQ(reactor_.ledger().count(TaskState::failed), 1U) << "and one loss is one too many";
    forget_actions();
}

// The last try of a task that was lost before is no longer the last after its allocation has grown.
TEST_F(SizedRun, AnExhaustionBetweenLossesIsNoLoss) {
    ReactorOptions twice{.max_losses = 2, .rejoin_limit = 100s};
    twice.monitoring = {.measures = true, .enforces = true};
    options(twice);
    say({.max = Sizes{.cores = 1000, .memory_mb = 4000, .disk_mb = 100},
         .first = Sizes{.memory_mb = 500},
         .mode = AllocationMode::max});
    join_with(1, {1, 8000, 400, 0});
    add_asking(1);
    event(WorkerLeft{WorkerId(1), "gone", true});
    join_with(2, {1, 8000, 400, 0});
    exhausts_memory(2, 0, 2, 600);
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(0).memory_mb, 4000);
    event(WorkerLeft{WorkerId(2), "gone", true});
    EXPECT_EQ(reactor_.ledger().count(TaskState::failed), 1U);
    forget_actions();
}

TEST_F(SizedRun, WhatIsMissingIsToldOfWorkersThatThereAre) {
    join_with(1, many_cores);
    join_with(2, much_memory);
    add_asking(1, {.cores = 32, .memory_mb = 200'000});
    const std::string why = reactor_.why(TaskId(0), now());
    EXPECT_THAT(
        why, HasSubstr("no worker has all of it: the one with the most cores has 32 cores, 64000 MB memory"));
    forget_actions();
}

}  // namespace
}  // namespace wq::engine::policies

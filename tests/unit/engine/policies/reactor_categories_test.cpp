// Allocations of a category's tasks, what happens to tasks that exceed them, and concurrency limits.
#include <set>

#include "unit/engine/policies/categories_run.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST_F(CategoriesRun, ItsMaximumIsWhatItsTasksAskFor) {
    say({.max = Sizes{.cores = 2000, .memory_mb = 1024}});
    add_asking(2);
    join_with(1, {4, 4096, 1000, 1});
    EXPECT_EQ(running(), 2U);
    EXPECT_EQ(given(0), (Resources{2, 2048, 500, 0}));
    forget_actions();
}

TEST_F(CategoriesRun, WhatATaskSaysItselfWins) {
    say({.max = Sizes{.cores = 2000, .memory_mb = 1024}});
    add_asking(1, {.cores = 4});
    join_with(1, {4, 4096, 1000, 1});
    EXPECT_EQ(given(0), (Resources{4, 4096, 1000, 0}));
    forget_actions();
}

TEST_F(CategoriesRun, NothingBelowItsMinimumIsGiven) {
    say({.max = Sizes{.cores = 1000}, .min = Sizes{.memory_mb = 3000}});
    add_asking(2);
    join_with(1, {4, 2999, 1000, 0});
    EXPECT_EQ(running(), 0U) << "a worker that cannot give the minimum will not do";
    EXPECT_THAT(reactor_.why(TaskId(0), now()), HasSubstr("not now: no worker can hold it"));
    join_with(2, {4, 7000, 1000, 0});
    EXPECT_EQ(running(), 2U);
    EXPECT_EQ(given(0), (Resources{1, 3000, 250, 0})) << "and it raises nothing else";
    forget_actions();
}

TEST_F(CategoriesRun, ATaskOfABucketGoesOnToLargerOnesAndThenToALargerWorker) {
    say({.mode = AllocationMode::det_greedy_bucketing});
    add_asking(1);
    join_with(1, {4, 3000, 4000, 0});
    EXPECT_EQ(given(0), (Resources{1, 1000, 1333, 0})) << "the guess, and rule 5";
    exhausts_memory(1, 0, 1, 1001);
    EXPECT_EQ(given(0), (Resources{4, 3000, 4000, 0})) << "2000 MB: no second task would fit";
    exhausts_memory(1, 0, 2, 3001);
    EXPECT_EQ(running(), 0U);
    EXPECT_THAT(reactor_.why(TaskId(0), now()), HasSubstr("no worker can hold it"));
    join_with(2, {8, 8000, 8000, 0});
    EXPECT_EQ(given(0), (Resources{4, 4000, 4000, 0}));
    ok(2, 0, 3);
    forget_actions();
}

TEST_F(CategoriesRun, BucketsComeFromTheLastTasks) {
    say({.mode = AllocationMode::greedy_bucketing});
    add_asking(40);
    join_with(1, {1, 4000, 4000, 0});
    std::set<std::int64_t> asked;
    for (std::uint64_t task = 0; task < 40; ++task) {
        const Needs& needs = reactor_.asked(ShapeId(0)).needs;
        asked.insert(task < 10 ? -needs.memory_mb : needs.memory_mb);
        Usage usage;
        usage.cores = 1000;
        usage.memory = task % 2 == 0 ? 300 : 3000;
        usage.disk = 1;
        measured(1, task, 1, usage);
        forget_actions();
    }
    EXPECT_THAT(asked, ::testing::ElementsAre(-1000, 300, 3000)) << "the guess for the first ten";
}

TEST_F(CategoriesRun, AChangeOfItIsForAllThatWait) {
    say({.max = Sizes{.cores = 4000}});
    add_asking(4);
    join_with(1, {2, 2000, 1000, 0});
    EXPECT_EQ(running(), 0U);
    say({.max = Sizes{.cores = 1000}});
    EXPECT_EQ(running(), 2U);
    forget_actions();
}

TEST_F(CategoriesRun, NoMoreRunAtOnceThanItAllows) {
    say({.max = Sizes{.cores = 1000}, .max_concurrent = 2});
    add_asking(5);
    join_with(1, {4, 4000, 1000, 0});
    join_with(2, {4, 4000, 1000, 0});
    EXPECT_EQ(running(), 2U);
    EXPECT_THAT(reactor_.why(TaskId(4), now()), HasSubstr("its category runs as many tasks as it may: "));
    for (std::uint64_t task = 0; task < 5; ++task) {
        ok(reactor_.ledger().find_attempted(TaskId(task))->worker.value(), task);
        EXPECT_EQ(running(), std::min<std::uint64_t>(2, 4 - task));
    }
    forget_actions();
}

TEST_F(CategoriesRun, NoMoreRunAtOnceThanTheRunAllows) {
    options({.wait_for_fitting = true, .most_running = 2});
    join_watched(1, 4);
    join_watched(2, 4);
    add(2, pinned({1}));
    add(2, pinned({2}));
    EXPECT_EQ(running(), 2U);
    EXPECT_EQ(reactor_.why(TaskId(3), now()), "not now: as many tasks run as may run at once: 2");
    for (std::uint64_t task = 0; task < 4; ++task) {
        ok(task < 2 ? 1 : 2, task);
        EXPECT_EQ(running(), std::min<std::uint64_t>(2, 3 - task)) << "room that one worker makes is for any";
    }
    forget_actions();
}

TEST_F(CategoriesRun, RoomThatOneMakesIsForAnyWorker) {
    say({.max = Sizes{.cores = 1000}, .max_concurrent = 1});
    add_asking(2);
    join_with(1, {1, 1000, 1000, 0});
    join_with(2, {1, 1000, 1000, 0});
    ASSERT_EQ(running(), 1U);
    const WorkerId first = reactor_.ledger().find_attempted(TaskId(0))->worker;
    event(WorkerLeft{first, "bye", false});
    EXPECT_EQ(running(), 1U) << "the other one takes it, without anything that happens there";
    forget_actions();
}

TEST_F(CategoriesRun, WholeWorkersUntilItIsSteadyThenWhatWasSeen) {
    say({.mode = AllocationMode::max_throughput, .steady_tasks = 3});
    add_asking(40);
    join_with(1, {8, 8000, 8000, 0});
    for (std::uint64_t task = 0; task < 4; ++task) {
        ASSERT_EQ(running(), 1U) << task;
        EXPECT_EQ(given(task), (Resources{8, 8000, 8000, 0}));
        measured(1, task, 1, {.cores = 1000, .memory = 900, .disk = 10});
    }
    EXPECT_EQ(running(), 8U) << "a core and 1000 MB each";
    EXPECT_EQ(given(4), (Resources{1, 1000, 1000, 0}));
    forget_actions();
}

// The task ended before it was sampled: its cores are unknown, everything else is almost nothing.
TEST_F(CategoriesRun, TasksThatTakeNoTimeAreGivenTheLeast) {
    for (const AllocationMode mode :
         {AllocationMode::max, AllocationMode::min_waste, AllocationMode::max_throughput}) {
        SetUp();
        say({.mode = mode, .steady_tasks = 3});
        add_asking(40);
        join_with(1, {8, 8000, 8000, 0});
        for (std::uint64_t task = 0; task < 4; ++task) {
            EXPECT_EQ(running(), 1U) << "none waits there with a whole worker, however soon it will run";
            Outcome outcome;
            outcome.wall_us = 90;
            outcome.measured.emplace().usage = {.cpu_time = 70, .memory = 3, .disk = 0};
            report(1, task, 1, outcome);
        }
        EXPECT_EQ(given(4), (Resources{1, 1000, 1000, 0})) << "an eighth, as of cores";
        EXPECT_EQ(reactor_.category(analysis)->computed(),
                  (Sizes{.cores = 1000, .memory_mb = 250, .disk_mb = 250}));
        forget_actions();
    }
}

// Their usage is part of their worker's, so nobody can measure it.
TEST_F(CategoriesRun, CallsOnThreadsAreGivenTheLeast) {
    const auto end_calls = [&] {
        Shape shape;
        shape.category = analysis;
        shape.unstoppable = true;
        say({.mode = AllocationMode::max, .steady_tasks = 3});
        event(TasksAdded{{TaskId(0), 40, std::move(shape), {}}, {}, {}});
        join_with(1, {8, 8000, 8000, 0});
        for (std::uint64_t task = 0; task < 4; ++task) ok(1, task);
        forget_actions();
    };
    end_calls();
    EXPECT_EQ(running(), 8U);
    options({.expected_workers = 0, .wait_for_fitting = true});
    end_calls();
    EXPECT_EQ(reactor_.category(analysis)->completions(), 0U) << "nothing is to be measured";
}

// It started before monitoring was switched on.
TEST_F(CategoriesRun, OfACommandThatWasNotMeasuredNothingIsLearned) {
    say({.mode = AllocationMode::max, .steady_tasks = 1});
    add_asking(4);
    join_with(1, {8, 8000, 8000, 0});
    ok(1, 0);
    EXPECT_EQ(reactor_.category(analysis)->completions(), 0U);
    forget_actions();
}

TEST_F(CategoriesRun, WhatIsComputedWaitsForNoLargerWorkerThanThereIs) {
    say({.mode = AllocationMode::max, .steady_tasks = 1});
    add_asking(10);
    join_with(1, {2, 900, 900, 0});
    for (std::uint64_t task = 0; task < 3; ++task)
        measured(1, task, 1, {.cores = 1000, .memory = 890, .disk = 10});
    EXPECT_EQ(running(), 1U) << "973 MB would be rounded up to 1000";
    forget_actions();
}

TEST_F(CategoriesRun, WhoTakesMoreIsTriedOnceMoreWithTheMaximum) {
    say({.max = Sizes{.cores = 1000, .memory_mb = 2000, .disk_mb = 100},
         .first = Sizes{.memory_mb = 500},
         .mode = AllocationMode::max_throughput});
    add_asking(1);
    join_with(1, {4, 8000, 400, 0});
    EXPECT_EQ(given(0).memory_mb, 2000) << "a quarter, as of cores";
    exhausts_memory(1, 0, 1, 2100);
    EXPECT_EQ(reactor_.ledger().count(TaskState::failed), 1U) << "it takes more than its category allows";
    forget_actions();
}

TEST_F(CategoriesRun, FromAGuessToTheMaximumToFailure) {
    say({.max = Sizes{.cores = 1000, .memory_mb = 4000, .disk_mb = 100},
         .first = Sizes{.cores = 1000, .memory_mb = 500, .disk_mb = 100},
         .mode = AllocationMode::max_throughput});
    add_asking(1);
    join_with(1, {16, 8000, 1600, 0});
    EXPECT_EQ(given(0).memory_mb, 500);
    exhausts_memory(1, 0, 1, 600);
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(0).memory_mb, 4000);
    EXPECT_EQ(reactor_.stats(analysis).tasks_exhausted_attempts, 1);
    exhausts_memory(1, 0, 2, 4100);
    EXPECT_EQ(reactor_.ledger().count(TaskState::failed), 1U);
    EXPECT_EQ(describe(reactor_.category(analysis)->largest(ResourceKind::memory), ResourceKind::memory),
              "4000");
    forget_actions();
}

TEST_F(CategoriesRun, WhatTakesMoreThanTheMaximumIsToldSoAndNotTriedAgain) {
    say({.max = Sizes{.cores = 1000, .memory_mb = 60, .disk_mb = 100},
         .first = Sizes{.cores = 1000, .memory_mb = 50, .disk_mb = 100},
         .mode = AllocationMode::max});
    add_asking(1);
    join_with(1, {16, 800, 1600, 0});
    ASSERT_EQ(given(0).memory_mb, 50);
    exhausts_memory(1, 0, 1, 73);
    EXPECT_EQ(reactor_.ledger().count(TaskState::failed), 1U);
    forget_actions();
    EXPECT_THAT(last_ended_.outcome.reason,
                EndsWith("; that is more than the maximum of its category, 60 MB memory"));
}

TEST_F(CategoriesRun, WhoExhaustsAWholeWorkerWaitsForALargerOne) {
    say({.mode = AllocationMode::max_throughput});
    add_asking(1);
    join_with(1, {4, 4000, 400, 0});
    exhausts_memory(1, 0, 1, 4100);
    EXPECT_EQ(running(), 0U);
    EXPECT_THAT(reactor_.why(TaskId(0), now()), HasSubstr("not now: no worker can hold it"));
    EXPECT_EQ(describe(reactor_.category(analysis)->largest(ResourceKind::memory), ResourceKind::memory),
              ">4100");
    join_with(2, {4, 4050, 400, 0});
    EXPECT_EQ(running(), 0U) << "it took more";
    join_with(3, {4, 8000, 400, 0});
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(0), (Resources{4, 8000, 400, 0}));
    measured(3, 0, 2, {.cores = 1000, .memory = 5000, .disk = 1});
    EXPECT_EQ(reactor_.ledger().count(TaskState::done), 1U);
    forget_actions();
}

TEST_F(CategoriesRun, AFixedCategorysTaskFailsWhereItTakesMore) {
    say({.max = Sizes{.cores = 1000, .memory_mb = 500}});
    add_asking(1);
    join_with(1, {4, 2000, 400, 0});
    exhausts_memory(1, 0, 1, 600);
    EXPECT_EQ(reactor_.ledger().count(TaskState::failed), 1U);
    forget_actions();
}

TEST_F(CategoriesRun, HowManyWorkersHoldItsLargestTask) {
    EXPECT_EQ(reactor_.category(analysis), nullptr);
    say({.max = Sizes{.cores = 2000}});
    join_with(1, {1, 1000, 100, 0});
    join_with(2, {2, 1000, 100, 0});
    join_with(3, {64, 1000, 100, 0});
    EXPECT_EQ(reactor_.able_workers(analysis), 2);
    forget_actions();
}

// The allocation is enforced; without enforcement, only the task's own memory request where memory is
// limited.
TEST_F(CategoriesRun, ATaskIsHeldToWhatItWasGiven) {
    std::vector<Action> actions;
    const auto lease_of = [&](ReactorOptions chosen) {
        chosen.expected_workers = 0;
        Reactor run(chosen, now());
        actions.clear();
        run.on(WorkerJoined{WorkerId(1), "node1", {4, 4000, 400, 0}, {}}, now(), actions);
        Shape shape;
        shape.needs = {.cores = 2, .memory_mb = 100};
        run.on(TasksAdded{{TaskId(0), 1, shape, {}}, {}, {}}, now(), actions);
        for (const Action& action : actions)
            if (const auto* lease = std::get_if<Lease>(&action)) return lease->watch;
        ADD_FAILURE() << "no lease";
        return Watch{};
    };
    EXPECT_EQ(lease_of({}), (Watch{false, {.memory_mb = 100}}));
    EXPECT_EQ(lease_of({.limits_memory = false}), Watch{});
    EXPECT_EQ(lease_of({.limits_memory = false, .monitoring = {.measures = true}}), (Watch{true, {}}));
    ReactorOptions all{.limits_memory = false, .monitoring = {.measures = true, .enforces = true}};
    all.allocation.rest = Rest::proportional;
    EXPECT_EQ(lease_of(all), (Watch{true, {.cores = 2000, .memory_mb = 2000, .disk_mb = 200}}));
}

// Also in modes with a smaller first allocation: the maximum is the most that it ever gets.
TEST_F(CategoriesRun, ATaskIsHeldToTheMemoryOfItsCategoryUnlessItIsOnlyMeasured) {
    std::vector<Action> actions;
    const auto limit_of = [&](ReactorOptions chosen, const CategorySet& said, std::int64_t own = -1) {
        chosen.expected_workers = 0;
        Reactor run(chosen, now());
        actions.clear();
        run.on(said, now(), actions);
        run.on(WorkerJoined{WorkerId(1), "node1", {4, 4000, 400, 0}, {}}, now(), actions);
        Shape shape;
        shape.category = said.category;
        shape.needs = {.cores = 1, .memory_mb = own};
        run.on(TasksAdded{{TaskId(0), 1, shape, {}}, {}, {}}, now(), actions);
        for (const Action& action : actions)
            if (const auto* lease = std::get_if<Lease>(&action)) return lease->watch.limits.memory_mb;
        ADD_FAILURE() << "no lease";
        return model::unsaid;
    };
    CategorySet fixed;
    fixed.category = analysis;
    fixed.max = Sizes{.memory_mb = 300};
    CategorySet learned = fixed;
    learned.mode = AllocationMode::max;
    learned.first = Sizes{.memory_mb = 100, .disk_mb = 1};
    for (const CategorySet& said : {fixed, learned}) {
        EXPECT_EQ(limit_of({}, said), 300);
        EXPECT_EQ(limit_of({}, said, 50), 50);
        EXPECT_EQ(limit_of({.monitoring = {.measures = true}}, said), Watch{}.limits.memory_mb);
        EXPECT_EQ(limit_of({.limits_memory = false}, said), Watch{}.limits.memory_mb);
    }
    EXPECT_EQ(limit_of({.monitoring = {.measures = true, .enforces = true}}, learned), 100);
}

// A malicious peer may report this: values off the wire are bounded to it.
TEST_F(CategoriesRun, TheMostThatCanBeMeasuredIsReckonedWith) {
    say({.mode = AllocationMode::min_waste, .steady_tasks = 0});
    add_asking(3);
    join_with(1, {4, 4000, 400, 0});
    const Usage most =
        within_bounds({.cores = INT64_MAX, .cpu_time = INT64_MAX, .memory = INT64_MAX, .disk = INT64_MAX});
    Outcome outcome;
    outcome.ending = Ending::out_of_memory;
    outcome.wall_us = 5'000'000;
    outcome.measured.emplace().usage = most;
    outcome.measured->exceeded = {.cores = most_size, .memory_mb = most_size, .disk_mb = most_size};
    report(1, 0, 1, outcome);
    EXPECT_THAT(reactor_.why(TaskId(0), now()), HasSubstr("not now: no worker can hold it"));
    ASSERT_EQ(running(), 1U) << "others go on";
    measured(1, 1, 1, most);
    EXPECT_EQ(reactor_.ledger().count(TaskState::done), 1U);
    EXPECT_EQ(reactor_.able_workers(analysis), 0);
    ASSERT_EQ(running(), 1U);
    EXPECT_EQ(given(2), (Resources{4, 4000, 400, 0}));
    join_with(2, {Count::of_thousandths(most_size), most_size, most_size, 0});
    EXPECT_EQ(running(), 2U) << "who offers as much gets it";
    EXPECT_EQ(given(0).memory_mb, most_size);
    forget_actions();
}

TEST(BusyCores, OfOneThatEndedWithinASecondAreThoseOfThatSecond) {
    Outcome outcome;
    EXPECT_EQ(busy_cores(outcome), unsaid);
    Usage& usage = outcome.measured.emplace().usage;
    EXPECT_EQ(busy_cores(outcome), unsaid);
    usage.cpu_time = 300'000;
    outcome.wall_us = 100'000;
    EXPECT_EQ(busy_cores(outcome), 300);
    outcome.wall_us = 3'000'000;
    EXPECT_EQ(busy_cores(outcome), 100);
    usage.cores = 1'700;
    EXPECT_EQ(busy_cores(outcome), 1'700);
    usage = {};
    usage.cpu_time = INT64_MAX;
    EXPECT_GT(busy_cores(outcome), 0);
}

}  // namespace
}  // namespace wq::engine::policies

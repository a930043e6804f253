// Priorities, features, categories, start and end times.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

Shape urgent(double priority, std::int64_t cores = -1) {
    Shape shape;
    shape.priority = priority;
    shape.needs.cores = cores;
    return shape;
}

Shape other(double priority) {
    Shape shape = urgent(priority);
    shape.retries = 1;
    return shape;
}

class PriorityTest : public RunFixture {
  protected:
    void SetUp() override { options({.expected_workers = 0, .wait_for_fitting = true}); }
    // The tasks that worker 1 gets until none waits, in order.
    std::vector<std::uint64_t> order() {
        std::vector<std::uint64_t> tasks;
        for (bool more = true; more;) {
            more = false;
            take([&](const std::string& line) {
                if (!line.starts_with("lease ")) return;
                tasks.push_back(std::stoull(line.substr(6)));
                more = true;
            });
            if (more) ok(1, tasks.back());
        }
        return tasks;
    }
};

TEST_F(PriorityTest, HigherOnesFirstAndAmongEqualsInOrder) {
    for (const double priority : {0.0, 5.0, -1.0, 5.0, 0.5, 0.0}) add(1, urgent(priority));
    join_watched(1);
    EXPECT_EQ(order(), (std::vector<std::uint64_t>{1, 3, 4, 0, 5, 2}));
}

TEST_F(PriorityTest, GoesAcrossShapes) {
    add(1, other(1));
    add(1, other(9));
    add(1, urgent(5));
    add(1, urgent(7));
    add(1, other(5));
    join_watched(1);
    EXPECT_EQ(order(), (std::vector<std::uint64_t>{1, 3, 2, 4, 0}));
}

TEST_F(PriorityTest, OfWhatABarrierLetsGoTheMostUrgentIsFirst) {
    join_watched(1);
    add(1);
    barrier();
    add(1, urgent(1));
    add(1, other(2));
    add(1, urgent(3));
    EXPECT_EQ(order(), (std::vector<std::uint64_t>{0, 3, 2, 1}));
}

TEST_F(PriorityTest, NoNumberIsPriorityNought) {
    add(1, urgent(std::numeric_limits<double>::quiet_NaN()));
    add(1, urgent(std::numeric_limits<double>::infinity()));
    add(1, urgent(-std::numeric_limits<double>::infinity()));
    add(1, urgent(1));
    join_watched(1);
    EXPECT_EQ(order(), (std::vector<std::uint64_t>{1, 3, 0, 2}));
}

TEST_F(PriorityTest, TasksThatDifferInPriorityAloneAreOfOneShape) {
    for (int i = 0; i < 100; ++i) add(1, urgent(i));
    EXPECT_EQ(reactor_.ledger().shapes(), 1u);
    join_watched(1);
    expect({"lease 99.1 to 1"});
    ok(1, 99, 1, 10ms);  // so that the next ones queue
    expect({"99.1 ended for good: exit 0", "lease 98.1 to 1", "lease 97.1 to 1", "lease 96.1 to 1"});
}

TEST_F(PriorityTest, AnUrgentTaskThatFitsNoWorkerHoldsNobodyUp) {
    join_watched(1);
    add(1, urgent(9, 4));
    add(2, urgent(0));
    EXPECT_EQ(order(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(PriorityTest, AnUrgentLargeTaskGetsItsWorkerInTheEnd) {
    join_watched(1, 2);
    add(2);
    add(1, urgent(1, 2));
    add(1000);
    std::uint64_t ended = 0;
    for (bool large = false; !large; ++ended) {
        ASSERT_LT(ended, 500u);
        std::uint64_t task = 0;
        take([&](const std::string& line) { large = large || line == "lease 2.1 to 1"; });
        for (const TaskId held : reactor_.workers().find(WorkerId(1))->leases) task = held.value();
        if (!large) ok(1, task);
    }
}

// The same shape waits already, behind tickets with higher priority.
TEST_F(PriorityTest, WhatIsMoreUrgentThanTheTicketsIsGivenOutBesideLessUrgentOnesThatWait) {
    options({.expected_workers = 2, .seal_batches = true});
    join(1, 1, true);
    join(2, 1, true);
    event(TasksAdded{{TaskId(0), 40, urgent(5), {}}, {}, {}});
    expect({"seal batch 1: 0-39"});
    add(1, urgent(1));
    expect({});
    add(1, urgent(10));
    expect({"lease 41.1 to 1"});
}

TEST_F(PriorityTest, OnlyTheMostUrgentAreSealed) {
    options({.expected_workers = 0, .wait_for_fitting = true, .seal_batches = true});
    barrier();
    add(1, urgent(9, 8));  // fits no rank, and delays nobody
    add(40, urgent(0));
    add(40, urgent(1));
    join(1, 1, true);
    expect({"seal batch 1: 41-80"});
    range_done(1, 1, ids(41, 81), 200'000'000);
    expect({"ended 41-80 on 1", "batch 1 over", "seal batch 2: 1-40"});
    add(3, urgent(2));
    expect({"lease 81.1 to 1"});  // before any ticket
    range_done(1, 2, ids(1, 41), 200'000'000);
    expect({"ended 1-40 on 1", "batch 2 over"});
    add(40, urgent(0));
    expect({});  // two tasks of higher priority wait
    ok(1, 81);
    ok(1, 82);
    expect(
        {"81.1 ended for good: exit 0", "lease 82.1 to 1", "82.1 ended for good: exit 0", "lease 83.1 to 1"});
    ok(1, 83);
    expect({"83.1 ended for good: exit 0", "seal batch 3: 84-123"});
}

TEST_F(PriorityTest, ARankWithTicketsGetsNoLessUrgentLeases) {
    options({.expected_workers = 0, .wait_for_fitting = true, .seal_batches = true});
    join(1, 1, true);
    join(2, 1, true);
    add(40, urgent(1));
    add(2, urgent(0));
    expect({"seal batch 1: 0-39"});
    join_watched(3);  // of these tasks it can only get those of lower priority
    expect({"lease 40.1 to 3"});
    dry(1, 1, ids(0, 1));
    expect({});
    ok(1, 0);  // nothing is left to claim: it may get others
    expect({"0.1 ended for good: exit 0", "lease 41.1 to 1"});
}

TEST_F(PriorityTest, WhenTheBatchIsOverItsRanksGetTheRest) {
    options({.expected_workers = 0, .wait_for_fitting = true, .seal_batches = true});
    join(1, 1, true);
    add(40, urgent(1));
    add(2, urgent(0));
    expect({"seal batch 1: 0-39"});
    range_done(1, 1, ids(0, 40), 200'000'000);
    expect({"ended 0-39 on 1", "batch 1 over", "lease 40.1 to 1"});
}

class FeatureTest : public PriorityTest {
  protected:
    static Shape with(std::vector<std::string> features) {
        Shape shape;
        shape.features = std::move(features);
        return shape;
    }
};

TEST_F(FeatureTest, AreAllNeeded) {
    join_watched(1, 8, {"gpu", "fast"});
    join_watched(2, 8, {"fast"});
    join_watched(3, 8);
    add(1, with({"fast", "gpu", "fast"}));
    add(1, with({"gpu", "large"}));
    expect({"lease 0.1 to 1"});
    idle(5s);
    expect(
        {"warning: tasks wait for a worker with feature gpu, feature large, which no worker "
         "has"});
    EXPECT_EQ(reactor_.waiting_for(), "1 task to end");
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
    EXPECT_EQ(reactor_.waiting_for(), "a worker with 1 core, feature gpu, feature large, for task 1");
    join_watched(4, 1, {"large", "gpu"});
    expect({"lease 1.1 to 4"});
    EXPECT_EQ(reactor_.workers().kinds().size(), 4u);
}

TEST_F(FeatureTest, WhatIsTooLargeIsToldOnceWhenNoWorkerHasComeForAWhile) {
    join_watched(1, 8);
    add(3, cores(64));
    add(1, cores(8));
    expect({"lease 3.1 to 1"});
    idle(4s);
    join_watched(2, 4);
    idle(4s);
    expect({});
    idle(1s);
    expect({"warning: tasks wait for a worker with 64 cores; the largest worker has 8"});
    ok(1, 3);
    expect({"3.1 ended for good: exit 0"});
    leave(2);
    idle(20s);
    expect({});
    EXPECT_EQ(reactor_.waiting_for(), "a worker with 64 cores, for task 0");
    join_watched(3, 64);
    expect({"lease 0.1 to 3"});
}

TEST_F(FeatureTest, WhatIsTooLargeIsToldAlsoWhileOthersKeepComing) {
    add(1, cores(64));
    for (std::uint32_t worker = 1; worker < 20; ++worker) {
        join_watched(worker, 8);
        idle(3s);
    }
    expect({});
    idle(3s);
    expect({"warning: tasks wait for a worker with 64 cores; the largest worker has 8"});
}

TEST_F(FeatureTest, WhereThePoolIsCompleteATaskIsSkippedForThem) {
    options({.expected_workers = 1});
    join_watched(1, 8, {"fast"});
    add(1, with({"fast", "gpu"}));
    expect(
        {"skip 0: needs feature fast, feature gpu, which no worker has; "
         "let the task ask for less"});
}

TEST_F(FeatureTest, OfARankDecideAboutItsTickets) {
    options({.expected_workers = 0, .wait_for_fitting = true, .seal_batches = true});
    join(1, 1, true);
    add(40, with({"gpu"}));
    idle(5s);
    expect({"warning: tasks wait for a worker with feature gpu, which no worker has"});
}

TEST_F(FeatureTest, CallsGoWhereTheirFunctionIs) {
    join_watched(1, 8);
    add(3, with({"function:area"}));
    idle(5s);
    expect({"warning: tasks wait for a worker with function 'area', which no worker has"});
    join_watched(2, 1, {"function:area"});
    add(1, cores(8));
    expect({"lease 0.1 to 2", "lease 3.1 to 1"});
    ok(1, 3);
    expect({"3.1 ended for good: exit 0"});
    lose(2);
    expect({"0.1 ended: worker lost: worker 2 on node2: gone"});
    join_watched(3, 4, {"function:area"});
    take([](const std::string& line) { EXPECT_THAT(line, ::testing::EndsWith("to 3")); });
}

TEST_F(FeatureTest, AFunctionThatNoWorkerHasHadIsMisspelt) {
    join_watched(1);
    add(2, with({"function:aera"}));
    idle(5s);
    expect({"warning: tasks wait for a worker with function 'aera', which no worker has"});
    join_watched(2, 1, {"function:area", "function:edge"});
    idle(4s);
    expect({});  // the worker that has it may be about to join
    idle(1s);
    expect({"skip 0-1: no worker has function 'aera'; they have function 'area', function 'edge'"});
    add(1000, with({"function:b"}));
    idle(5s);
    expect({"skip 2-1001: no worker has function 'b'; they have function 'area', function 'edge'"});
    leave(2);
    join_watched(3, 1, {"function:other"});
    add(1, with({"function:area"}));  // for a worker that may rejoin
    idle(5s);
    expect({"warning: tasks wait for a worker with function 'area', which no worker has"});
}

TEST_F(PriorityTest, CategoriesHaveFiguresOfTheirOwn) {
    Shape blue;
    blue.category = CategoryId(1);
    join_watched(1, 2);
    add(2);
    add(4, blue);
    fail(1, 1);
    ok(1, 0);
    ok(1, 2);
    cancel(5);
    take([](const std::string&) {});
    const ManagerStats own = reactor_.stats(CategoryId(1));
    EXPECT_EQ(own.tasks_submitted, 4);
    EXPECT_EQ(own.tasks_waiting, 0);
    EXPECT_EQ(own.tasks_on_workers, 2);
    EXPECT_EQ(own.tasks_done, 1);
    EXPECT_EQ(own.tasks_cancelled, 1);
    EXPECT_EQ(own.tasks_failed, 0);
    EXPECT_EQ(own.tasks_dispatched, 3);
    EXPECT_EQ(own.time_execute, 5'000'000);
    EXPECT_EQ(own.workers_connected, 1);
    const ManagerStats other = reactor_.stats(CategoryId(0));
    EXPECT_EQ(other.tasks_done, 2);
    EXPECT_EQ(other.tasks_failed, 1);
    EXPECT_EQ(other.time_execute, 10'000'000);
    EXPECT_EQ(other.time_execute_good, 5'000'000);
    EXPECT_EQ(reactor_.stats(CategoryId(7)).tasks_submitted, 0);
}

class TimesTest : public PriorityTest {
  protected:
    WallMicros in(Duration time) const { return now().wall + time / 1us; }
    Shape not_before(Duration time) const {
        Shape shape;
        shape.not_before = in(time);
        return shape;
    }
    Shape not_after(Duration time) const {
        Shape shape;
        shape.not_after = in(time);
        return shape;
    }
};

TEST_F(TimesTest, ATaskWaitsForItsStart) {
    join_watched(1);
    add(1, not_before(90s));
    add(1, not_before(10min));
    end_input();
    idle(89s);
    expect({});
    EXPECT_EQ(reactor_.waiting_for(), "the start time of 2 tasks");
    EXPECT_EQ(reactor_.stats().tasks_waiting, 2);
    idle(1s);
    expect({"lease 0.1 to 1"});
    cancel(1);
    ok(1, 0);
    expect({"cancelled 1", "0.1 ended for good: exit 0", "finished 0"});
}

TEST_F(TimesTest, AStartThatIsOverIsNone) {
    join_watched(1);
    add(1, not_before(-10s));
    expect({"lease 0.1 to 1"});
}

TEST_F(TimesTest, AWaitingTaskExpires) {
    add(1);
    add(1, not_after(60s), {{1, true}});
    add(1, {}, {{1, true}});
    add(1, not_after(-5s));
    end_input();
    expect({"3.1 ended for good: its end time came before it could start"});
    idle(59s);
    expect({});
    idle(1s);
    expect({"1.1 ended for good: its end time came before it could start",
            "skip 2: task 1 of its group failed"});
    EXPECT_EQ(reactor_.stats().tasks_failed, 2);
    EXPECT_FALSE(reactor_.wakeup());
    join_watched(1);
    ok(1, 0);
    expect({"lease 0.1 to 1", "0.1 ended for good: exit 0", "finished 1"});
}

TEST_F(TimesTest, ABlockedTaskExpiresToo) {
    join_watched(1);
    add(1);
    barrier();
    add(1, not_after(60s));
    idle(60s);
    expect({"lease 0.1 to 1", "1.1 ended for good: its end time came before it could start"});
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
}

TEST_F(TimesTest, AnAttemptHasUntilTheEndTime) {
    std::vector<Action> actions;
    const auto lease_of = [&](Shape shape) {
        actions.clear();
        shape.needs.cores = 1;
        reactor_.on(TasksAdded{{TaskId(reactor_.ledger().size()), 1, std::move(shape), {}}, {}, {}}, now(),
                    actions);
        return std::get<Lease>(actions.at(0)).timeout;
    };
    join_watched(1, 100);
    EXPECT_EQ(lease_of({}), 0s);
    EXPECT_EQ(lease_of(not_after(60s)), 60s);
    Shape both = not_after(60s);
    both.timeout = 10s;
    EXPECT_EQ(lease_of(both), 10s);
    both.timeout = 100s;
    EXPECT_EQ(lease_of(both), 60s);
    both.not_after = std::numeric_limits<WallMicros>::max();
    EXPECT_EQ(lease_of(both), 100s);
}

TEST_F(TimesTest, WhatItsEndTimeEndedIsNotTriedAgain) {
    join_watched(1, 2);
    Shape shape = not_after(60s);
    shape.retries = 5;
    add(1, shape);
    shape.timeout = 10s;
    add(1, shape);
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    idle(10s);
    end(1, 1, 1, Ending::timed_out);  // its own limit
    expect({"1.1 ended: timed out after 5.00s", "lease 1.2 to 1"});
    idle(49s);
    fail(1, 1, 2);
    expect({"1.2 ended: exit 1", "lease 1.3 to 1"});
    idle(1s);
    fail(1, 1, 3);
    expect({"1.3 ended: exit 1", "1.4 ended for good: its end time came before it could start"});
    end(1, 0, 1, Ending::timed_out);
    expect({"0.1 ended for good: its end time came after 5.00s"});
}

// For example, the worker's clock is wrong.
TEST_F(TimesTest, WhatTimedOutBeforeItsEndTimeWasNotEndedByIt) {
    join_watched(1);
    Shape shape = not_after(60s);
    shape.retries = 1;
    add(1, shape);
    idle(59s);
    end(1, 0, 1, Ending::timed_out);
    expect({"lease 0.1 to 1", "0.1 ended: timed out after 5.00s", "lease 0.2 to 1"});
}

TEST_F(TimesTest, ManyThatExpireAtOnceDoSoInParts) {
    options({.expected_workers = 0, .wait_for_fitting = true});
    std::vector<Action> actions;
    const auto tell = [&](const Event& event) { reactor_.on(event, now(), actions); };
    tell(TasksAdded{{TaskId(0), 10'000, not_after(1s), {}}, {}, {}});
    tell(InputEnded{});
    pass(2s);
    int ticks = 0;
    for (; !reactor_.finished() && ticks < 1000; ++ticks) {
        ASSERT_TRUE(reactor_.wakeup());
        tell(WorkerJoined{WorkerId(static_cast<std::uint32_t>(ticks)), "node", {1, 1000, 0, 0}, {}});
    }
    EXPECT_GT(ticks, 1);
    EXPECT_EQ(actions.size(), 10'001u) << "one end each, and none was given out";
}

TEST_F(TimesTest, EndTimesAreNotSealed) {
    options({.expected_workers = 0, .wait_for_fitting = true, .seal_batches = true});
    join(1, 1, true);
    add(100, not_after(1h));
    expect({"lease 0.1 to 1"});
}

}  // namespace
}  // namespace wq::engine::policies

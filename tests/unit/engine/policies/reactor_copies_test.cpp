// Speculative copies of the last stragglers.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class CopiesTest : public RunFixture {
  protected:
    void SetUp() override { begin({.max_losses = 0, .wait_for_fitting = true}); }
    // Ten tasks of 5 s have succeeded on worker 1; then task 10 starts there, and worker 2 is idle.
    void begin(ReactorOptions how) {
        options(how);
        event(Tuned{std::nullopt, std::nullopt, 2});
        join_watched(1);
        add(10);
        for (std::uint64_t task = 0; task < 10; ++task) {
            pass(5s);
            ok(1, task);
        }
        take([](const std::string&) {});
    }
    void straggle(const Shape& shape = {}) {
        add(1, shape);
        if (reactor_.workers().find(WorkerId(2)) == nullptr) join_watched(2);
        idle(10s);
    }
    std::int64_t copies() const { return reactor_.stats().tasks_copied_attempts; }
};

TEST_F(CopiesTest, TheCopySucceedsFirst) {
    add(1);
    join_watched(2);
    idle(9999ms);
    expect({"lease 10.1 to 1"});
    idle(1ms);
    expect({"lease 10.2 to 2"});
    EXPECT_EQ(reactor_.stats().tasks_on_workers, 1);
    ok(2, 10, 2);
    expect({"kill 10 attempt 1 on 1", "10.2 ended for good: exit 0"});
    end(1, 10, 1, Ending::killed);
    ok(1, 10, 1);
    EXPECT_EQ(reactor_.stale_reports(), 2u) << "never two results";
    EXPECT_EQ(copies(), 1);
    EXPECT_EQ(reactor_.stats().tasks_done, 1 + 10);
}

TEST_F(CopiesTest, TheFirstOneSucceedsFirst) {
    straggle();
    ok(1, 10, 1);
    expect({"lease 10.1 to 1", "lease 10.2 to 2", "10.1 ended for good: exit 0", "kill 10 attempt 2 on 2"});
    ok(2, 10, 2);
    EXPECT_EQ(reactor_.stale_reports(), 1u);
}

TEST_F(CopiesTest, AFailureOfTheFirstCountsAndOneOfTheCopyDoesNot) {
    straggle();
    fail(2, 10, 2);
    idle(1h);
    expect({"lease 10.1 to 1", "lease 10.2 to 2"});  // and no third one
    fail(1, 10, 1);
    expect({"10.1 ended for good: exit 1"});
    straggle(retries(1));
    expect({"lease 11.1 to 1", "lease 11.2 to 2"});
    fail(1, 11, 1);
    expect({"11.1 ended: exit 1"});  // its retry runs already
    fail(2, 11, 2);
    expect({"11.2 ended for good: exit 1"});
}

TEST_F(CopiesTest, WhenTheFirstIsLostTheCopyGoesOn) {
    straggle();
    lose(1);
    expect({"lease 10.1 to 1", "lease 10.2 to 2", "10.1 ended: worker lost: worker 1 on node1: gone"});
    EXPECT_TRUE(last_ended_.goes_on);
    ok(2, 10, 2);
    expect({"10.2 ended for good: exit 0"});
    EXPECT_EQ(reactor_.stats().tasks_lost_attempts, 1);
}

TEST_F(CopiesTest, WhenTheCopyIsLostNobodyIsBlamed) {
    straggle();
    lose(2);
    expect({"lease 10.1 to 1", "lease 10.2 to 2"});
    lose(1);
    join_watched(3);
    expect({"10.1 ended: worker lost: worker 1 on node1: gone", "lease 10.3 to 3"});
    EXPECT_EQ(reactor_.stats().tasks_lost_attempts, 1);
}

TEST_F(CopiesTest, ALastChanceRunsByItself) {
    Shape twice;
    twice.max_tries = 2;
    straggle(twice);
    lose(1);
    expect({"lease 10.1 to 1", "lease 10.2 to 2", "10.1 ended: worker lost: worker 1 on node1: gone",
            "kill 10 attempt 2 on 2", "lease 10.3 to 2"});
    EXPECT_FALSE(last_ended_.goes_on) << "it waits";
    lose(2);
    expect({"10.3 ended for good: worker lost: worker 2 on node2: gone; lost 2 workers"});
}

TEST_F(CopiesTest, NothingIsCopiedWhileOthersWaitNorWithFilesNorWhenItIsOff) {
    join_watched(2);
    add(2);
    add(1, pinned({1}));
    add(1, cores(9));  // waits for a worker that can hold it
    idle(4s);
    expect({"lease 10.1 to 1", "lease 11.1 to 2"});
    ok(2, 11);
    expect({"11.1 ended for good: exit 0"});
    idle(30s);
    take([](const std::string& line) { EXPECT_THAT(line, ::testing::StartsWith("warning: ")); });
    EXPECT_EQ(copies(), 0);
    cancel(13);
    cancel(12);
    idle(6s);  // it is checked once per mean run time
    take([](const std::string&) {});
    EXPECT_EQ(copies(), 1);
    event(Tuned{std::nullopt, std::nullopt, 0});
    ok(1, 10, 1);
    Shape files;
    files.leased_only = true;
    add(1, files);
    idle(1h);
    event(Tuned{std::nullopt, std::nullopt, 2});
    idle(1h);
    take([](const std::string&) {});
    EXPECT_EQ(copies(), 1);
}

TEST_F(CopiesTest, WhatNobodyCanEndIsNotCopied) {
    Shape call;
    call.unstoppable = true;
    straggle(call);
    idle(1h);
    expect({"lease 10.1 to 1"});
    EXPECT_EQ(copies(), 0);
}

// A thousand of them run, and no worker has room for a copy.
TEST_F(CopiesTest, AFewAreLookedAtHoweverManyRun) {
    join_watched(2, 1000);
    add(1000);
    const std::uint64_t before = reactor_.looks();
    idle(10s);
    std::uint64_t ticks = 0;
    const Duration end = clock_ + 60s;
    for (auto at = reactor_.wakeup(); at && *at <= Instant(end); at = reactor_.wakeup()) {
        clock_ = std::max(clock_, at->time_since_epoch());
        tick();
        ++ticks;
    }
    take([](const std::string&) {});
    EXPECT_LE(ticks, 120u);
    EXPECT_LE(reactor_.looks() - before, 40 * ticks);
    join_watched(3, 2000);
    idle(2min);
    take([](const std::string&) {});
    EXPECT_EQ(copies(), 1000);
}

TEST_F(CopiesTest, ACancelledTaskIsKilledTwice) {
    straggle();
    cancel(10);
    expect({"lease 10.1 to 1", "lease 10.2 to 2", "kill 10 attempt 1 on 1", "kill 10 attempt 2 on 2",
            "cancelled 10"});
}

TEST_F(CopiesTest, AStopEndsBoth) {
    straggle();
    stop(StopReason::interrupted, 0s);
    take([](const std::string&) {});
    end(2, 10, 2, Ending::killed);
    expect({});
    end(1, 10, 1, Ending::killed);
    expect({"10.1 ended: killed", "finished 75 stopped"});
    EXPECT_FALSE(last_ended_.goes_on);
}

// A disconnected worker keeps its copy if it names it when it reconnects.
TEST_F(CopiesTest, ACopyOutlivesACutLink) {
    straggle();
    expect({"lease 10.1 to 1", "lease 10.2 to 2"});
    away(2);
    back(2, {{TaskId(10), 2}});
    away(1);
    back(1);  // it never had it
    ok(2, 10, 2);
    expect({"10.2 ended for good: exit 0"});
    straggle();
    expect({"lease 11.1 to 1", "lease 11.2 to 2"});
    away(2);
    back(2);
    ok(2, 11, 2);  // which does not know it
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    ok(1, 11, 1);
    expect({"11.1 ended for good: exit 0"});
}

TEST_F(CopiesTest, AnotherHostIsPreferred) {
    add(1);
    WorkerJoined same{WorkerId(2), "node1", {4, 4000, 0, 0}, {}};
    same.watched = true;
    event(same);
    join_watched(3);
    idle(10s);
    expect({"lease 10.1 to 1", "lease 10.2 to 3"});
}

TEST_F(CopiesTest, ATaskThatIsEndedAsTooSlowGoesOnWithItsCopy) {
    event(FastAbortSet{CategoryId(0), 4});
    straggle();
    idle(10s);
    expect({"lease 10.1 to 1", "lease 10.2 to 2", "kill 10 attempt 1 on 1"});
    end(1, 10, 1, Ending::killed);
    expect({"10.1 ended: took too long: more than 4 times the mean of its category"});
    ok(2, 10, 2);
    expect({"10.2 ended for good: exit 0"});
}

// Its category learns, with a first guess of 1000 MB and a maximum of 4000.
class CopiesOfACategory : public CopiesTest {
  protected:
    void SetUp() override {
        begin(
            {.max_losses = 0, .wait_for_fitting = true, .monitoring = {.measures = true, .enforces = true}});
        CategorySet set{.category = CategoryId(0)};
        set.max = Sizes{.cores = 1000, .memory_mb = 4000, .disk_mb = 0};
        set.first = Sizes{.memory_mb = 1000};
        set.mode = AllocationMode::max;
        event(set);
        lose(1);
        join_watched(1, 4);
        join_watched(2, 4);
        take([](const std::string&) {});
        straggle();
        expect({"lease 10.1 to 1", "lease 10.2 to 2"});
        EXPECT_EQ(given(), (Resources{1, 1000, 0, 0}));
    }
    Resources given() const { return reactor_.ledger().find_attempted(TaskId(10))->given; }
    void exhausts_memory(std::uint32_t worker, Attempt attempt) {
        Outcome outcome;
        outcome.ending = Ending::out_of_memory;
        outcome.measured.emplace().usage.memory = 1001;
        outcome.measured->exceeded.memory_mb = 1000;
        report(worker, 10, attempt, outcome);
    }
};

TEST_F(CopiesOfACategory, WhatTakesMoreThanItWasGivenRunsAtItsMaximumAndNotAsItsSmallCopy) {
    exhausts_memory(1, 1);
    expect({"kill 10 attempt 2 on 2", "10.1 ended: out of memory", "lease 10.3 to 1"});
    EXPECT_FALSE(last_ended_.goes_on);
    EXPECT_EQ(given(), (Resources{1, 4000, 0, 0}));
    exhausts_memory(2, 2);
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    ok(1, 10, 3);
    expect({"10.3 ended for good: exit 0"});
}

// Whole workers; the copy's is the larger one.
TEST_F(CopiesTest, ACopyThatHasMoreThanWasTooLittleGoesOn) {
    begin({.max_losses = 0, .wait_for_fitting = true, .monitoring = {.measures = true, .enforces = true}});
    event(CategorySet{.category = CategoryId(0), .mode = AllocationMode::max});
    lose(1);
    join_watched(1, 4);
    Shape whole;
    whole.needs.disk_mb = 0;
    add(1, whole);
    join_watched(2, 16);
    idle(10s);
    take([](const std::string&) {});
    const auto given = [&] { return reactor_.ledger().find_attempted(TaskId(10))->given; };
    ASSERT_EQ(copies(), 1);
    ASSERT_EQ(given().memory_mb, 4000);
    Outcome outcome;
    outcome.ending = Ending::out_of_memory;
    outcome.measured.emplace().usage.memory = 4100;
    outcome.measured->exceeded.memory_mb = 4000;
    report(1, 10, 1, outcome);
    expect({"10.1 ended: out of memory"});
    EXPECT_TRUE(last_ended_.goes_on);
    EXPECT_EQ(given().memory_mb, 16'000);
    ok(2, 10, 2);
    expect({"10.2 ended for good: exit 0"});
}

TEST_F(CopiesOfACategory, ACopyThatTakesMoreThanItWasGivenSaysNothingOfTheFirst) {
    exhausts_memory(2, 2);
    expect({});
    exhausts_memory(1, 1);
    expect({"10.1 ended: out of memory", "lease 10.3 to 1"});
    EXPECT_EQ(given(), (Resources{1, 4000, 0, 0}));
}

}  // namespace
}  // namespace wq::engine::policies

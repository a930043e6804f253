// Fast abort: tasks that take too long are killed and run elsewhere.
#include <cmath>

#include "engine/model/run_times.h"
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

constexpr CategoryId blue{1};

TEST(RunTimes, ManyValuesOfAMultiplierMeanTheDefault) {
    RunTimes times;
    EXPECT_FALSE(times.watches());
    times.set(blue, 3);
    EXPECT_EQ(times.multiplier(blue), 3);
    EXPECT_EQ(times.multiplier(CategoryId(0)), std::nullopt) << "there is no default yet";
    times.set(CategoryId(0), 2);
    EXPECT_EQ(times.multiplier(CategoryId(7)), 2) << "the default counts for named categories too";
    EXPECT_EQ(times.multiplier(blue), 3);
    for (const double unset : {-1.0, 0.5, std::nan(""), HUGE_VAL}) {
        times.set(blue, unset);
        EXPECT_EQ(times.multiplier(blue), 2) << unset;
    }
    times.set(blue, 0);
    EXPECT_EQ(times.multiplier(blue), std::nullopt) << "0: never";
    EXPECT_TRUE(times.watches());
    times.set(CategoryId(0), 0);
    EXPECT_FALSE(times.watches());
    times.set(blue, 1);
    EXPECT_EQ(times.multiplier(blue), 1);
}

TEST(RunTimes, EachTimeATaskMayTakeTwiceAsLong) {
    RunTimes times;
    times.set(CategoryId(0), 2);
    times.succeeded(blue, 9, 90s);
    EXPECT_EQ(times.allowed(blue, 0), std::nullopt) << "nine tell nothing";
    times.succeeded(blue, 1, 10s);
    EXPECT_EQ(times.mean(blue), 10s);
    EXPECT_EQ(times.allowed(blue, 0), 20s);
    EXPECT_EQ(times.allowed(blue, 1), 40s);
    EXPECT_EQ(times.allowed(blue, 5), 640s);
    EXPECT_EQ(times.allowed(blue, 1000), std::nullopt) << "centuries are no limit";
    EXPECT_EQ(times.allowed(CategoryId(2), 0), std::nullopt) << "of which nothing is known";
    times.succeeded(CategoryId(2), 1000, 1s);
    EXPECT_EQ(times.allowed(CategoryId(2), 0), 1s) << "not sooner";
}

// The first of a group is due first, in whatever order they started and ended.
TEST(RunTimes, TellsWhoIsDueNext) {
    RunTimes times;
    times.set(CategoryId(0), 2);
    times.succeeded(CategoryId(0), 10, 100s);
    times.succeeded(blue, 10, 10s);
    const auto mark = [](CategoryId category, std::uint32_t aborted, Duration since) {
        return RunTimeMark{category, aborted, Instant(since), {}};
    };
    times.began(TaskId(1), mark(CategoryId(0), 0, 3s));
    times.began(TaskId(2), mark(CategoryId(0), 0, 1s));
    times.began(TaskId(3), mark(blue, 0, 15s));
    times.began(TaskId(4), mark(blue, 2, 12s));
    EXPECT_EQ(times.next(), Instant(17s));
    EXPECT_EQ(times.due(Instant(17s)), TaskId(3));
    times.ended(TaskId(3), mark(blue, 0, 15s));
    EXPECT_EQ(times.next(), Instant(20s));
    times.ended(TaskId(4), mark(blue, 2, 12s));
    EXPECT_EQ(times.due(Instant(20s)), std::nullopt);
    EXPECT_EQ(times.due(Instant(21s)), TaskId(2));
    times.succeeded(CategoryId(0), 10, 300s);  // the mean grows
    EXPECT_EQ(times.next(), Instant(41s));
    RunTimeMark told = mark(CategoryId(0), 0, 3s);
    times.ended(TaskId(1), told);
    told.again_at = Instant(30s);
    times.began(TaskId(1), told);
    EXPECT_EQ(times.next(), Instant(30s));
    EXPECT_EQ(times.audit(), std::nullopt);
}

class SlowTest : public RunFixture {
  protected:
    void SetUp() override { options({.max_losses = 0, .wait_for_fitting = true}); }
    void fast_abort(double multiplier, CategoryId category = CategoryId(0)) {
        event(FastAbortSet{category, multiplier});
    }
    // Ten tasks that took 5 s each, on worker 1.
    void ten_succeed(const Shape& shape = {}) {
        const std::uint64_t first = reactor_.ledger().size();
        add(10, shape);
        for (std::uint64_t task = first; task < first + 10; ++task) {
            pass(5s);
            ok(1, task);
        }
        take([](const std::string&) {});
    }
    void on_one_host(std::uint32_t id, std::int64_t cores) {
        WorkerJoined joined{WorkerId(id), "node1", {cores, 1000, 0, 0}, {}};
        joined.watched = true;
        event(joined);
    }
    static Shape of(CategoryId category) {
        Shape shape;
        shape.category = category;
        return shape;
    }
    std::int64_t aborted() const { return reactor_.stats().workers_fast_aborted; }
};

TEST_F(SlowTest, ATaskThatTakesTooLongRunsElsewhereAndMayTakeLonger) {
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    add(1);
    expect({"lease 10.1 to 1"});
    join_watched(2);
    idle(9999ms);
    expect({});
    idle(1ms);
    expect({"kill 10 attempt 1 on 1"});
    end(1, 10, 1, Ending::killed);
    expect({"10.1 ended: took too long: more than 2 times the mean of its category", "lease 10.2 to 2"});
    EXPECT_EQ(aborted(), 1);
    idle(19s);
    expect({});
    idle(1s);
    expect({"kill 10 attempt 2 on 2"});
    end(2, 10, 2, Ending::killed);
    expect({"10.2 ended: took too long: more than 4 times the mean of its category", "lease 10.3 to 1"});
    idle(39s);
    ok(1, 10, 3);
    expect({"10.3 ended for good: exit 0"});
    EXPECT_EQ(aborted(), 2);
    EXPECT_EQ(reactor_.stats(CategoryId(0)).workers_fast_aborted, 2);
    EXPECT_EQ(reactor_.stats(blue).workers_fast_aborted, 0);
}

// Its inputs may have been in transfer, or it waited behind a call that cannot be killed.
TEST_F(SlowTest, OneThatHadNotBegunWhenItWasToldCountsToo) {
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    add(1);
    join_watched(2);
    take([](const std::string&) {});
    idle(10s);
    expect({"kill 10 attempt 1 on 1"});
    give_back(1, 10);
    expect({"10.1 ended: took too long: more than 2 times the mean of its category", "lease 10.2 to 2"});
    EXPECT_EQ(aborted(), 1);
    idle(19s);
    expect({});
    idle(1s);
    expect({"kill 10 attempt 2 on 2"});
}

TEST_F(SlowTest, ItsRetriesCountAsTheManualSays) {
    join_watched(1);
    fast_abort(1);
    ten_succeed();
    Shape once;
    once.max_tries = 2;
    add(1, once);
    idle(5s);
    end(1, 10, 1, Ending::killed);
    idle(10s);
    end(1, 10, 2, Ending::killed);
    expect({"lease 10.1 to 1", "kill 10 attempt 1 on 1",
            "10.1 ended: took too long: more than 1 times the mean of its category", "lease 10.2 to 1",
            "kill 10 attempt 2 on 1",
            "10.2 ended for good: took too long: more than 2 times the mean of its category; tried 2 times"});
    EXPECT_TRUE(last_ended_.out_of_tries);
}

TEST_F(SlowTest, NothingIsEndedBeforeTenHaveSucceededNorWithoutAMultiplier) {
    join_watched(1, 2);
    add(1);
    add(9);
    for (std::uint64_t task = 1; task < 10; ++task) ok(1, task);
    take([](const std::string&) {});
    fast_abort(2);
    idle(1h);
    expect({});
    add(1);
    ok(1, 10);
    take([](const std::string&) {});
    idle(1s);  // the tenth took no time: the mean is small
    expect({"kill 0 attempt 1 on 1"});
    fast_abort(0);
    end(1, 0, 1, Ending::killed);
    take([](const std::string&) {});
    idle(1h);
    expect({});
}

TEST_F(SlowTest, FailuresAreNoMeasure) {
    join_watched(1, 2);
    fast_abort(2);
    add(12);
    for (std::uint64_t task = 0; task < 11; ++task) fail(1, task);
    take([](const std::string&) {});
    idle(1h);
    expect({});
}

TEST_F(SlowTest, CategoriesHaveTheirOwn) {
    join_watched(1);
    fast_abort(2);
    fast_abort(0, blue);
    ten_succeed(of(blue));
    add(1, of(blue));
    expect({"lease 10.1 to 1"});
    idle(1h);
    expect({});
    fast_abort(3, blue);
    idle(1ms);
    expect({"kill 10 attempt 1 on 1"});
    cancel(10);
    expect({"kill 10 attempt 1 on 1", "cancelled 10"});
    ten_succeed(of(CategoryId(2)));  // by the default
    add(1, of(CategoryId(2)));
    idle(10s);
    expect({"lease 21.1 to 1", "kill 21 attempt 1 on 1"});
}

// Its report was in flight when it was told to end.
TEST_F(SlowTest, AResultThatComesAllTheSameCounts) {
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    add(2);
    idle(10s);
    expect({"lease 10.1 to 1", "kill 10 attempt 1 on 1"});
    ok(1, 10);
    expect({"10.1 ended for good: exit 0", "lease 11.1 to 1"});
    idle(11s);
    fail(1, 11);
    expect({"kill 11 attempt 1 on 1", "11.1 ended for good: exit 1"});
    EXPECT_EQ(aborted(), 0);
}

// On a host that hangs nothing can be killed.
TEST_F(SlowTest, AWorkerThatDoesNotAnswerLosesTheTask) {
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    add(1);
    join_watched(2);
    idle(39s);
    expect({"lease 10.1 to 1", "kill 10 attempt 1 on 1"});
    idle(1s);
    expect({"kill 10 attempt 1 on 1",
            "10.1 ended: took too long: its worker has not said for 30s that it has ended it",
            "lease 10.2 to 2"});
    ok(1, 10, 1);  // too late
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    ok(2, 10, 2);
    expect({"10.2 ended for good: exit 0"});
}

TEST_F(SlowTest, AWorkerThatIsAwayKeepsItsTaskAndIsToldWhenItIsBack) {
    join_watched(1);
    join_watched(2);
    fast_abort(2);
    add(1);
    expect({"lease 0.1 to 1"});
    add(10);
    for (std::uint64_t task = 1; task <= 10; ++task) {
        pass(5s);
        ok(2, task);
    }
    take([](const std::string&) {});
    away(1);
    idle(50s);
    expect({});
    back(1, {{TaskId(0), 1}});
    expect({});
    idle(30s);
    expect({"kill 0 attempt 1 on 1"});
    away(1);
    idle(40s);
    back(1, {{TaskId(0), 1}});  // and has not heard it
    expect({"kill 0 attempt 1 on 1"});
    idle(29s);
    expect({});
    away(1);
    idle(61s);
    expect({"dismiss 1: cut; did not reconnect within 60 s",
            "0.1 ended: worker lost: worker 1 on node1: cut; did not reconnect within 60 s",
            "lease 0.2 to 2"});
    EXPECT_EQ(aborted(), 0);
}

// All workers are busy: its room goes to another task, and it takes the first room on another host.
TEST_F(SlowTest, TheNextRoomOnAnotherHostIsItsOwn) {
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    join_watched(2);
    add(4);
    expect({"lease 10.1 to 1", "lease 11.1 to 2"});
    idle(5s);
    ok(2, 11);
    idle(5s);
    expect({"11.1 ended for good: exit 0", "lease 12.1 to 2", "kill 10 attempt 1 on 1"});
    end(1, 10, 1, Ending::killed);
    expect({"10.1 ended: took too long: more than 2 times the mean of its category", "lease 13.1 to 1"});
    idle(1s);
    ok(2, 12);
    expect({"12.1 ended for good: exit 0", "lease 10.2 to 2"});
}

// Whether they waited before or come later, and whatever room the host gets.
TEST_F(SlowTest, OthersOfItsShapeDoNotWaitWithIt) {
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    leave(1);
    join_watched(1, 2);
    join_watched(2);
    add(1, pinned({2}));
    add(1);
    idle(10s);
    ok(2, 10);
    add(1, pinned({2}));
    take([](const std::string&) {});
    end(1, 11, 1, Ending::killed);
    expect({"11.1 ended: took too long: more than 2 times the mean of its category"});
    add(1);
    expect({"lease 13.1 to 1"});
    add(2);
    expect({"lease 14.1 to 1"});
    ok(1, 13);
    expect({"13.1 ended for good: exit 0", "lease 15.1 to 1"});
    ok(2, 12);
    expect({"12.1 ended for good: exit 0", "lease 11.2 to 2"});
    event(Tick{});
}

TEST_F(SlowTest, ItRunsOnAnotherWorkerOfItsHostIfNoOtherHostCouldRunIt) {
    on_one_host(1, 2);
    fast_abort(2);
    Shape wide;
    wide.needs.cores = 2;
    ten_succeed(wide);
    add(1, wide);
    expect({"lease 10.1 to 1"});
    on_one_host(2, 1);
    join_watched(3);
    idle(10s);
    expect({"kill 10 attempt 1 on 1"});
    end(1, 10, 1, Ending::killed);
    expect({"10.1 ended: took too long: more than 2 times the mean of its category", "lease 10.2 to 1"});
    on_one_host(4, 2);
    idle(20s);
    expect({"kill 10 attempt 2 on 1"});
    end(1, 10, 2, Ending::killed);
    expect({"10.2 ended: took too long: more than 4 times the mean of its category", "lease 10.3 to 4"});
}

// The host that it avoids has more idle workers than a search looks at.
TEST_F(SlowTest, ItFindsAnotherHostBehindManyWorkersOfTheOne) {
    on_one_host(1, 1);
    fast_abort(2);
    ten_succeed();
    add(1);
    expect({"lease 10.1 to 1"});
    for (std::uint32_t id = 3; id < 23; ++id) on_one_host(id, 4);
    WorkerJoined other{WorkerId(50), "node2", {4, 1000, 0, 0}, {}};
    other.watched = true;
    event(other);
    add(1, pinned({50}));
    idle(10s);
    ok(50, 11);
    take([](const std::string&) {});
    end(1, 10, 1, Ending::killed);
    expect({"10.1 ended: took too long: more than 2 times the mean of its category", "lease 10.2 to 50"});
}

// It would stay empty for the whole time.
TEST_F(SlowTest, NoWorkerIsKeptFreeForATaskThatAvoidsIt) {
    options({.max_losses = 3, .wait_for_fitting = true});
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    join_watched(2);
    join_watched(3);
    add(1);
    add(1, pinned({2}));
    add(1, pinned({3}));
    expect({"lease 10.1 to 1", "lease 11.1 to 2", "lease 12.1 to 3"});
    lose(1);
    join_watched(1);
    expect({"10.1 ended: worker lost: worker 1 on node1: gone", "lease 10.2 to 1"});
    idle(10s);
    end(1, 10, 2, Ending::killed);
    take([](const std::string&) {});
    ASSERT_FALSE(reactor_.ledger().suspect_shapes().empty()) << "it waits for another host";
    add(1, pinned({1}));
    expect({"lease 13.1 to 1"});
}

TEST_F(SlowTest, AnotherHostIsNotWaitedForInVain) {
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    add(1);
    join_watched(2);
    add(1, pinned({2}));
    expect({"lease 10.1 to 1", "lease 11.1 to 2"});
    ok(2, 11);
    add(1, pinned({2}));
    idle(10s);
    end(1, 10, 1, Ending::killed);
    take([](const std::string&) {});
    idle(3s);
    expect({});
    idle(3s);  // one mean run time
    take([](const std::string& line) { EXPECT_EQ(line, "lease 10.2 to 1"); });
    EXPECT_EQ(reactor_.ledger().state(TaskId(10)), TaskState::leased);
}

TEST_F(SlowTest, WhatIsStoppedIsNotTooSlow) {
    join_watched(1);
    fast_abort(2);
    ten_succeed();
    add(1);
    idle(9s);
    stop(StopReason::interrupted, 1h);
    idle(10min);
    expect({"lease 10.1 to 1", "recall 1 from 1"});
    end(1, 10, 1, Ending::killed);
    expect({"10.1 ended: killed", "finished 75 stopped"});
}

// Tickets that become leases at the end of their batch are watched from then on.
TEST_F(SlowTest, TheLastTicketsOfABatchAreWatchedToo) {
    options({.max_losses = 0, .expected_workers = 1, .wait_for_fitting = true, .seal_batches = true});
    join(1, 1, true);
    fast_abort(2);
    add(20);
    expect({"seal batch 1: 0-19"});
    for (std::uint64_t task = 0; task < 19; ++task) ok(1, task, 1, 1s);
    take([](const std::string&) {});
    dry(1, 1, ids(19, 20));
    expect({"batch 1 over"});
    for (int i = 0; i < 9; ++i) {
        pass(1s);
        hear(1);
    }
    tick();
    expect({"kill 19 attempt 1 on 1"});
    end(1, 19, 1, Ending::killed);
    expect({"19.1 ended: took too long: more than 2 times the mean of its category", "lease 19.2 to 1"});
}

}  // namespace
}  // namespace wq::engine::policies

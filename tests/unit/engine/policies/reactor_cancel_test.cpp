// Tasks that the user cancels, and ranges that end at once.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class CancelTest : public RunFixture {};

TEST_F(CancelTest, AWaitingTaskIsGone) {
    join(1);
    add(3);
    end_input();
    cancel(1);
    cancel(1);  // repeating it changes nothing
    cancel(9);  // no such task
    expect({"lease 0.1 to 1", "cancelled 1"});
    EXPECT_EQ(reactor_.stats().tasks_cancelled, 1);
    EXPECT_EQ(reactor_.stats().tasks_waiting, 1);
    ok(1, 0);
    cancel(0);  // has ended
    ok(1, 2);
    expect({"0.1 ended for good: exit 0", "lease 2.1 to 1", "2.1 ended for good: exit 0", "finished 0"});
    EXPECT_EQ(reactor_.stats().tasks_done, 2);
}

TEST_F(CancelTest, ARunningTaskIsKilledAndItsWorkerFreeAtOnce) {
    join(1);
    add(2);
    cancel(0);
    expect({"lease 0.1 to 1", "kill 0 attempt 1 on 1", "cancelled 0", "lease 1.1 to 1"});
    end(1, 0, 1, Ending::killed);
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    ok(1, 1);
    expect({"1.1 ended for good: exit 0"});
}

TEST_F(CancelTest, ARunOfCancelledTasksEnds) {
    join(1);
    add(100);
    expect({"lease 0.1 to 1"});
    end_input();
    for (std::uint64_t id = 0; id < 100; ++id) cancel(id);
    std::string last;
    take([&](const std::string& line) { last = line; });
    EXPECT_EQ(last, "finished 0");
    EXPECT_EQ(reactor_.ledger().cancelled().ranges(), 1u);
}

TEST_F(CancelTest, WhatWaitsForACancelledTaskCanNeverRun) {
    join(1);
    add(1, {}, {{1, true}});
    add(1, {}, {{1, true}});
    add(1, {}, {{1, true}});
    end_input();
    cancel(1);
    expect({"lease 0.1 to 1", "cancelled 1", "skip 2: task 1 of its group was cancelled"});
    ok(1, 0);
    expect({"0.1 ended for good: exit 0", "finished 1"});
}

TEST_F(CancelTest, ATicketIsKilledAtEveryMember) {
    options({.expected_workers = 2, .seal_batches = true});
    join(1, 1, true);
    join(2, 1, true);
    add(40);
    expect({"seal batch 1: 0-39"});
    cancel(3);
    expect({"revoke batch 1", "kill 3 attempt 1 on 1", "kill 3 attempt 1 on 2", "cancelled 3"});
    ok(2, 3);  // it had run already
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    for (std::uint64_t id = 0; id < 40; ++id)
        if (id != 3) cancel(id);
    std::string last;
    take([&](const std::string& line) { last = line; });
    EXPECT_EQ(last, "batch 1 over");
}

TEST_F(CancelTest, TheLastChanceOfACancelledTaskIsNobodysHindrance) {
    options({.max_losses = 2});
    join(1, 4);
    add(1);
    end(1, 0, 1, Ending::worker_lost);
    add(1);
    expect({"lease 0.1 to 1", "0.1 ended: worker lost", "lease 0.2 to 1"});  // alone
    cancel(0);
    expect({"kill 0 attempt 2 on 1", "cancelled 0", "lease 1.1 to 1"});
}

TEST_F(CancelTest, ARangeIsCancelledAsAWholeInWhateverStatesItsTasksAre) {
    options({.max_losses = 0});
    join(1, 2);
    add(4);
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    ok(1, 0);
    expect({"0.1 ended for good: exit 0", "lease 2.1 to 1"});
    Shape late;
    late.not_before = now().wall + 1'000'000;
    add(2, late);
    barrier();
    add(3);
    cancel(0, 100);
    expect({"kill 1 attempt 1 on 1", "kill 2 attempt 1 on 1", "cancelled 1-8"});
    cancel(0, 100);
    cancel(UINT64_MAX - 1, UINT64_MAX);
    EXPECT_EQ(reactor_.stats().tasks_cancelled, 8);
    EXPECT_EQ(reactor_.stats().tasks_waiting, 0);
    end_input();
    expect({"finished 0"});
}

TEST_F(CancelTest, TicketsAreRevokedAndKilledByTheRange) {
    options({.expected_workers = 2, .seal_batches = true});
    join(1, 1, true);
    join(2, 1, true);
    add(40);
    expect({"seal batch 1: 0-39"});
    range_done(1, 1, ids(4, 6));
    expect({"ended 4-5 on 1"});
    cancel(0, 10);
    expect({"revoke batch 1", "kill 0-3 attempt 1 on 1", "kill 0-3 attempt 1 on 2", "kill 6-9 attempt 1 on 1",
            "kill 6-9 attempt 1 on 2", "cancelled 0-3,6-9"});
    dry(1, 1, ids(8, 12));  // cancelled tasks are not leased
    cancel(10, 40);
    take([](const std::string&) {});
    EXPECT_EQ(reactor_.stats().tasks_cancelled, 38);
}

// One by one this would take days.
TEST_F(CancelTest, AMillionMillionCostWhatTheirPiecesDo) {
    options({.expected_workers = 1, .seal_batches = true});
    join(1, 4, true);
    constexpr std::uint64_t most = 1'000'000'000'000;
    std::vector<Action> actions;
    // Without the audit, which visits every task.
    const auto tell = [&](const Event& event) { reactor_.on(event, now(), actions); };
    tell(TasksAdded{{TaskId(0), most, {}, {}}, {}, {}});
    ASSERT_TRUE(std::holds_alternative<Seal>(actions.front()));
    tell(CancelRequested{{0, most}});
    tell(TasksAdded{{TaskId(most), most, cores(1), {}}, {}, {}});
    tell(StorageTrouble{true});
    tell(TasksAdded{{TaskId(2 * most), most, cores(2), {}}, {}, {}});
    tell(CancelRequested{{most + 7, 3 * most}});
    EXPECT_EQ(reactor_.stats().tasks_cancelled, static_cast<std::int64_t>(3 * most - 7));
    EXPECT_LT(actions.size(), 100u);
    tell(CancelRequested{{most, most + 7}});
    tell(InputEnded{});
    EXPECT_TRUE(reactor_.finished());
}

class RangeTest : public RunFixture {
  protected:
    void seal_all(std::uint64_t count) {
        options({.expected_workers = 2, .seal_batches = true});
        join(1, 1, true);
        join(2, 1, true);
        add(count);
        take([](const std::string&) {});
    }
};

TEST_F(RangeTest, EndsWhatIsSealed) {
    seal_all(40);
    end_input();
    range_done(1, 1, ids(0, 30), 3'000);
    expect({"ended 0-29 on 1"});
    range_done(2, 1, ids(20, 40), 2'000);  // ten of them again
    expect({"ended 30-39 on 2", "batch 1 over", "finished 0"});
    EXPECT_EQ(reactor_.stale_reports(), 10u);
    EXPECT_EQ(reactor_.stats().tasks_done, 40);
    EXPECT_EQ(reactor_.stats().tasks_dispatched, 40);
    EXPECT_EQ(reactor_.stats().time_execute, 4'000);
    EXPECT_EQ(reactor_.stats().time_execute_good, 4'000);
}

TEST_F(RangeTest, EndsWhatBecameALeaseOfTheOneThatNamedIt) {
    seal_all(40);
    range_done(1, 1, ids(0, 36), 0);
    dry(1, 1, ids(36, 38));
    dry(2, 1, ids(38, 39));
    expect({"ended 0-35 on 1", "batch 1 over", "lease 39.1 to 2"});
    range_done(1, 1, ids(36, 40), 0);
    expect({"ended 36-37 on 1"});
    EXPECT_EQ(reactor_.stale_reports(), 2u) << "38 is leased to the other, 39 was given out anew";
    EXPECT_EQ(reactor_.stats().tasks_dispatched, 40);
    range_done(2, 1, ids(38, 40), 0);  // 39 is attempt 2, which no range contains
    expect({"ended 38 on 2"});
    EXPECT_EQ(reactor_.stale_reports(), 3u);
}

TEST_F(RangeTest, OfStrangersIsStale) {
    seal_all(40);
    join(3, 1);
    range_done(3, 1, ids(0, 2), 0);
    range_done(9, 1, ids(0, 2), 0);
    range_done(1, 2, ids(0, 2), 0);
    range_done(1, 1, ids(1'000'000, 1ull << 60), 0);
    range_done(1, 1, {}, 0);
    take([](const std::string& line) { EXPECT_EQ(line, "revoke batch 1"); });
    EXPECT_EQ(reactor_.stale_reports(), 6 + (1ull << 60) - 1'000'000);
    EXPECT_EQ(reactor_.stats().tasks_done, 0);
}

TEST_F(RangeTest, TimesThatAreNoneAreNotCounted) {
    seal_all(40);
    range_done(1, 1, ids(0, 1), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(reactor_.stats().time_execute, 0);
    range_done(1, 1, ids(1, 2), std::numeric_limits<std::int64_t>::max());
    range_done(1, 1, ids(2, 3), std::numeric_limits<std::int64_t>::max());
    EXPECT_GT(reactor_.stats().time_execute, 0);
    take([](const std::string&) {});
}

TEST_F(RangeTest, OpensWhatWaitedForAllOfIt) {
    seal_all(40);
    barrier();
    add(1);
    range_done(1, 1, ids(0, 39), 0);
    expect({"ended 0-38 on 1"});
    range_done(2, 1, ids(39, 40), 0);
    expect({"ended 39 on 2", "batch 1 over", "lease 40.1 to 1"});
}

TEST_F(RangeTest, TenMillionCostWhatOneDoes) {
    options({.expected_workers = 1, .seal_batches = true});
    join(1, 1, true);
    std::vector<Action> actions;
    // Without the audit, which visits every task.
    const auto tell = [&](const Event& event) { reactor_.on(event, now(), actions); };
    constexpr std::uint64_t most = 10'000'000;
    tell(TasksAdded{{TaskId(0), most, {}, {}}, {}, {}});
    tell(InputEnded{});
    const auto* seal = std::get_if<Seal>(&actions.front());
    ASSERT_NE(seal, nullptr);
    const IntervalSet all = seal->tasks;
    ASSERT_EQ(all.count(), most);
    actions.clear();
    tell(RangeReported{WorkerId(1), BatchId(1), all, 0, 1});
    const auto* ended = std::get_if<RangeEnded>(&actions.front());
    ASSERT_NE(ended, nullptr);
    EXPECT_EQ(ended->tasks, all);
    EXPECT_TRUE(reactor_.finished());
    EXPECT_EQ(reactor_.stats().tasks_done, static_cast<std::int64_t>(most));
}

}  // namespace
}  // namespace wq::engine::policies

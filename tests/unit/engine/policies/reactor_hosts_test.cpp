// Hosts that get no tasks: blocked by the user, or excluded because tasks fail there that succeed elsewhere.
#include "engine/model/shunned_hosts.h"
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class BlockTest : public RunFixture {
  protected:
    void SetUp() override { options({.max_losses = 0, .expected_workers = 0, .wait_for_fitting = true}); }
    void block(const std::string& host, std::optional<Duration> time = {}) { event(HostBlocked{host, time}); }
    void unblock(std::optional<std::string> host) { event(HostUnblocked{std::move(host)}); }
    static constexpr const char* told =
        "warning: tasks wait, and all hosts that could run them are blocked: node1; unblock_host() or "
        "unblock_all() ends that";
};

TEST_F(BlockTest, ABlockedHostGetsNothingAndEndsWhatItRuns) {
    join_watched(1, 2);
    add(1);
    expect({"lease 0.1 to 1"});
    block("node1");
    add(1);
    expect({"recall 1 from 1"});
    EXPECT_EQ(reactor_.waiting_for(), "1 task to end");
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
    const char* const blocked =
        "a host that is not blocked, for task 1; unblock_host() would let it run on node1";
    EXPECT_EQ(reactor_.waiting_for(), blocked);
    idle(24h);
    expect({told});
    join_watched(2);
    expect({"lease 1.1 to 2"});
    EXPECT_EQ(reactor_.stats().workers_blocked, 1);
    EXPECT_EQ(reactor_.stats().hosts_blocked, 1);
    add(2);
    unblock("node1");
    take([](const std::string& line) { EXPECT_THAT(line, ::testing::EndsWith(" to 1")); });
    EXPECT_EQ(reactor_.ledger().count(TaskState::leased), 3u);
    EXPECT_EQ(reactor_.stats().hosts_blocked, 0);
    unblock("node1");  // repeating it changes nothing
    unblock("nowhere");
    expect({});
}

TEST_F(BlockTest, WorkersThatComeFromThereWait) {
    block("node1");
    join_watched(1);
    add(1);
    expect({});
    EXPECT_EQ(reactor_.stats().workers_blocked, 1);
    EXPECT_EQ(reactor_.stats().workers_connected, 1);
    leave(1);
    join_watched(1);
    EXPECT_EQ(reactor_.stats().workers_blocked, 2);
    unblock(std::nullopt);
    expect({"lease 0.1 to 1"});
}

// Other hosts have room, but not for these tasks.
TEST_F(BlockTest, ThatAllHostsForATaskAreBlockedIsToldOnce) {
    join_watched(1, 4);
    join_watched(2);
    block("node1");
    add(3, cores(4));
    add(1);
    expect({"lease 3.1 to 2"});
    idle(4s);
    expect({});
    idle(2s);
    expect({told});
    ok(2, 3);
    add(1, cores(3));
    expect({"3.1 ended for good: exit 0"});
    EXPECT_THAT(reactor_.waiting_for(), ::testing::StartsWith("a host that is not blocked, for task 0; "));
    idle(24h);
    expect({});
    unblock("node1");
    block("node1");
    idle(24h);
    take([](const std::string& line) {
        EXPECT_THAT(line, ::testing::AnyOf(::testing::StartsWith("lease "), ::testing::StartsWith("recall "),
                                           ::testing::StrEq(told)));
    });
}

TEST_F(BlockTest, ATimeEndsItAndTheLastWordCounts) {
    join_watched(1);
    block("node1", 10s);
    add(1);
    idle(9999ms);
    expect({told});
    idle(1ms);
    expect({"lease 0.1 to 1"});
    block("node1", 10s);
    block("node1");
    add(1);
    ok(1, 0);
    idle(1h);
    expect({"recall 1 from 1", "0.1 ended for good: exit 0", told});
    block("node1", 5s);
    idle(5s);
    expect({"lease 1.1 to 1"});
    EXPECT_EQ(reactor_.stats().workers_blocked, 2) << "once for each time that it was blocked anew";
}

TEST_F(BlockTest, OneThatIsAwayOrDrainsWhileItIsBlockedGetsNothingAfterwardsEither) {
    join_watched(1);
    block("node1");
    away(1);
    back(1);
    add(1);
    expect({});
    drain(1);
    unblock("node1");
    expect({});
    event(WorkerDraining{WorkerId(1), false});
    expect({"lease 0.1 to 1"});
    away(1);
    block("node1");  // it cannot be notified
    unblock("node1");
    expect({});
    back(1, {{TaskId(0), 1}});
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
}

TEST_F(BlockTest, ABlockedRankClaimsNoTickets) {
    options({.max_losses = 0, .expected_workers = 2, .wait_for_fitting = true, .seal_batches = true});
    join(1, 1, true);
    join(2, 1, true);
    add(40);
    expect({"seal batch 1: 0-39"});
    block("node2");
    expect({"revoke batch 1"});
    dry(1, 1, ids(0, 1));
    dry(2, 1, ids(1, 2));
    expect({"batch 1 over", "seal batch 2: 2-39"});
    ok(2, 1);
    ok(1, 0);
    ok(1, 2);
    expect({"1.1 ended for good: exit 0", "0.1 ended for good: exit 0", "2.1 ended for good: exit 0"});
    unblock("node2");
    expect({"revoke batch 2"});  // so that it takes part in the next one
}

class AsideTest : public BlockTest {
  protected:
    // Tasks of 1 core, each of which fails at once on node1; node2 succeeds now and then.
    void fail_on_node1(int most) {
        for (int i = 0; i < most; ++i) {
            pass(100ms);
            const Worker* bad = reactor_.workers().find(WorkerId(1));
            if (bad->leases.empty()) return;
            const TaskId task = *bad->leases.begin();
            Outcome outcome;
            outcome.exit_code = 127;
            outcome.wall_us = 100'000;
            report(1, task.value(), reactor_.ledger().find_attempted(task)->attempt, outcome);
            ++failed_;
        }
    }
    void join_with_gpus(std::uint32_t worker, std::int64_t cores = 1) {
        WorkerJoined joined{
            WorkerId(worker), "node" + std::to_string(worker), {cores, cores * 1000, 0, 1}, {}};
        joined.watched = true;
        event(joined);
    }
    void succeed_on(std::uint32_t worker) {
        const auto& leases = reactor_.workers().find(WorkerId(worker))->leases;
        if (!leases.empty()) ok(worker, leases.begin()->value(), 1);
    }
    std::vector<std::string> said() {
        std::vector<std::string> lines;
        take([&](const std::string& line) {
            if (line.starts_with("set aside") || line.starts_with("released")) lines.push_back(line);
        });
        return lines;
    }
    int failed_ = 0;
};

TEST_F(AsideTest, ABrokenHostDoesNotConsumeTheQueue) {
    join_watched(1);
    join_watched(2, 8);
    add(1000);
    fail_on_node1(1000);
    EXPECT_LE(failed_, 30);
    const auto lines = said();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_THAT(lines[0], ::testing::StartsWith("set aside node1 for 60 s: its last "));
    EXPECT_THAT(lines[0], ::testing::EndsWith(" tasks failed, after 0.10s each (the last one: exit 127); "
                                              "elsewhere 0 of 8 did"));
    EXPECT_EQ(reactor_.stats().hosts_blocked, 1);
    EXPECT_EQ(reactor_.stats().workers_blocked, 1);
    succeed_on(2);
    idle(59s);
    EXPECT_TRUE(said().empty());
    idle(2s);
    EXPECT_EQ(said(), std::vector<std::string>{"released node1"});
    failed_ = 0;
    fail_on_node1(1000);
    EXPECT_GT(failed_, 0);
    EXPECT_LE(failed_, 30);
    const auto again = said();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_THAT(again[0], ::testing::StartsWith("set aside node1 for 120 s"));
    unblock("node1");
    EXPECT_FALSE(reactor_.workers().find(WorkerId(1))->leases.empty()) << "it works again at once";
    take([](const std::string&) {});
}

TEST_F(AsideTest, NeverTheLastOneThatCouldHoldTheTasks) {
    join_watched(1);
    join_watched(2, 8);
    add(8);
    add(500, pinned({1}));
    fail_on_node1(500);
    EXPECT_EQ(failed_, 500) << "nobody else may run them";
    EXPECT_TRUE(said().empty());
    leave(2);
    take([](const std::string&) {});
    EXPECT_EQ(reactor_.workers().hosts_available(), 1u);
}

Shape gpu_task() {
    Shape shape;
    shape.needs.gpus = shape.needs.cores = 1;
    return shape;
}

// The only host with GPUs is kept, whatever fails there.
TEST_F(AsideTest, NeverTheLastOneForWhatWaitsBesides) {
    join_with_gpus(1);
    join_watched(2, 8);
    add(60);
    add(2, gpu_task());
    fail_on_node1(50);
    EXPECT_GE(failed_, 50);
    EXPECT_TRUE(said().empty());
}

TEST_F(AsideTest, ItIsReleasedWhenItIsTheLastOneForWhatComes) {
    join_with_gpus(1);
    join_watched(2, 8);
    add(1000);
    fail_on_node1(1000);
    ASSERT_EQ(said().size(), 1u);
    add(2, gpu_task());
    EXPECT_EQ(said(), std::vector<std::string>{"released node1"});
    failed_ = 0;
    fail_on_node1(100);
    EXPECT_EQ(failed_, 100);
    EXPECT_TRUE(said().empty());
}

TEST_F(AsideTest, ItIsReleasedWhenItBecomesTheLastOneForWhatWaits) {
    join_with_gpus(1);
    join_with_gpus(2, 8);
    join_watched(3, 8);
    add(1000);
    add(20, gpu_task());
    fail_on_node1(1000);
    ASSERT_EQ(said().size(), 1u);
    block("node2");
    EXPECT_EQ(said(), std::vector<std::string>{"released node1"});
    unblock("node2");
    take([](const std::string&) {});
}

// Some lines of the list are wrong, and the others have long been busy with earlier tasks.
TEST_F(AsideTest, AStretchOfTheListThatIsWrongSetsNobodyAside) {
    join_watched(2, 8);
    add(8);
    pass(10min);
    join_watched(1);
    add(500);
    for (int i = 0; i < 25; ++i) {
        fail_on_node1(1);
        if (i < 17) continue;
        ok(2, static_cast<std::uint64_t>(i - 17), 1, 10min);
        const auto leases = reactor_.workers().find(WorkerId(2))->leases;
        for (const TaskId task : leases)
            if (task.value() >= 8) fail(2, task.value());
    }
    EXPECT_EQ(failed_, 25);
    EXPECT_TRUE(said().empty());
}

// In a list without categories.
TEST_F(AsideTest, WhatNeedsGpusIsComparedWithSuch) {
    join_with_gpus(1);
    join_watched(2, 8);
    join_with_gpus(3);
    block("node3");
    add(8);
    add(200, gpu_task());
    unblock("node3");
    take([](const std::string&) {});
    fail_on_node1(100);
    EXPECT_TRUE(said().empty());
}

TEST_F(AsideTest, WhenTheOthersLeaveItIsTheLastOne) {
    join_watched(1);
    join_watched(2, 8);
    add(1000);
    fail_on_node1(1000);
    ASSERT_EQ(said().size(), 1u);
    leave(2);
    EXPECT_EQ(said(), std::vector<std::string>{"released node1"});
    EXPECT_FALSE(reactor_.workers().find(WorkerId(1))->leases.empty());
}

TEST_F(AsideTest, AListThatFailsEverywhereSetsNobodyAside) {
    join_watched(1);
    join_watched(2);
    add(400);
    for (int i = 0; i < 200; ++i) {
        fail_on_node1(1);
        const auto& leases = reactor_.workers().find(WorkerId(2))->leases;
        if (!leases.empty()) fail(2, leases.begin()->value());
    }
    EXPECT_TRUE(said().empty());
}

TEST_F(AsideTest, TheUserMayWantThemAll) {
    options(
        {.max_losses = 0, .expected_workers = 0, .wait_for_fitting = true, .excludes_failing_hosts = false});
    join_watched(1);
    join_watched(2, 8);
    add(100);
    fail_on_node1(1000);
    EXPECT_EQ(failed_, 92);
    EXPECT_TRUE(said().empty());
}

// Its claims are known from its reports, and the others' activity from the batch.
TEST_F(AsideTest, ARankToo) {
    options({.max_losses = 0, .expected_workers = 2, .wait_for_fitting = true, .seal_batches = true});
    join(1, 1, true);
    join(2, 8, true);
    add(1000);
    expect({"seal batch 1: 0-999"});
    for (std::uint64_t task = 0; task < 100; ++task) {
        pass(100ms);
        Outcome outcome;
        outcome.exit_code = 1;
        outcome.wall_us = 100'000;
        hear(2);
        report(1, task, 1, outcome);
        if (reactor_.blocked_hosts().size() > 0) break;
        ++failed_;
    }
    EXPECT_LE(failed_, 30);
    bool revoked = false;
    take([&](const std::string& line) { revoked = revoked || line == "revoke batch 1"; });
    EXPECT_TRUE(revoked) << "it would claim what is left";
}

}  // namespace
}  // namespace wq::engine::policies

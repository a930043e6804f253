// Tasks that the MPI pool claims by ticket.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class BatchTest : public RunFixture {
  protected:
    // Ranks 1 and 2 with one core each, and a batch of 40 tasks.
    void seal_forty() {
        options({.expected_workers = 2, .seal_batches = true});
        join(1, 1, true);
        join(2, 1, true);
        add(40);
        expect({"seal batch 1: 0-39"});
    }
    void all_ok(std::uint32_t worker, std::uint64_t first, std::uint64_t end, Attempt attempt = 1) {
        for (std::uint64_t id = first; id < end; ++id) ok(worker, id, attempt);
    }
    void drop_all() {
        take([](const std::string&) {});
    }
};

TEST_F(BatchTest, IsSealedAndOver) {
    seal_forty();
    end_input();
    all_ok(1, 0, 25);
    all_ok(2, 25, 39);
    dry(1, 1);
    drop_all();
    dry(2, 1, ids(39, 40));
    expect({"batch 1 over"});
    ok(2, 39);
    expect({"39.1 ended for good: exit 0", "finished 0"});
}

TEST_F(BatchTest, HoldsTheCoresOfTheTasksThatRun) {
    seal_forty();
    EXPECT_EQ(reactor_.stats().committed_cores, 2) << "both cores, though nothing is leased";
    all_ok(1, 0, 39);
    EXPECT_EQ(reactor_.stats().committed_cores, 1) << "one task is left";
    drop_all();
}

TEST_F(BatchTest, WaitsForThePoolAndForEnoughTasks) {
    options({.expected_workers = 2, .seal_batches = true});
    join(1, 1, true);
    add(40);
    expect({"lease 0.1 to 1"});
    join(2, 1, true);
    expect({"seal batch 1: 1-39"});
}

TEST_F(BatchTest, WhatALostRankClaimedGoesBackWithBlame) {
    seal_forty();
    all_ok(1, 0, 30);
    all_ok(1, 31, 40);
    drop_all();
    lose(2);  // with task 30
    dry(1, 1);
    expect({"30.1 ended: worker lost: worker 2 on node2: gone", "batch 1 over", "lease 30.2 to 1"});
    EXPECT_EQ(last_ended_.worker, WorkerId(2));
    EXPECT_TRUE(last_ended_.by_ticket);
    EXPECT_EQ(last_ended_.given, (Resources{1, 1000, 0, 0}));
}

TEST_F(BatchTest, WhichOfSeveralLostRanksClaimedATicketIsNotMadeUp) {
    options({.expected_workers = 3, .seal_batches = true});
    for (std::uint32_t rank = 0; rank < 3; ++rank) join(rank, 1, true);
    add(48);
    expect({"seal batch 1: 0-47"});
    all_ok(0, 0, 30);
    all_ok(0, 31, 48);
    drop_all();
    lose(1);
    lose(2);  // one of them with task 30
    dry(0, 1);
    expect({"30.1 ended: worker lost: one of the lost workers 1, 2 had claimed it", "batch 1 over",
            "lease 30.2 to 0"});
    EXPECT_EQ(last_ended_.worker, unknown_worker);
    EXPECT_TRUE(last_ended_.by_ticket);
}

TEST_F(BatchTest, ARankLostAfterItsAccountIsNotBlamedForWhatItDidNotName) {
    options({.expected_workers = 3, .seal_batches = true});
    for (std::uint32_t rank = 0; rank < 3; ++rank) join(rank, 1, true);
    add(48);
    expect({"seal batch 1: 0-47"});
    all_ok(0, 0, 30);
    all_ok(0, 31, 48);
    dry(1, 1);
    drop_all();
    lose(1);
    lose(2);  // with task 30
    dry(0, 1);
    expect({"30.1 ended: worker lost: worker 2 on node2: gone", "batch 1 over", "lease 30.2 to 0"});
}

TEST_F(BatchTest, AWholeRangeThatALostNodeTookIsNobodysFaultButLeasedFromThen) {
    seal_forty();
    lose(2);  // with the unclaimed tickets of its node
    dry(1, 1, ids(0, 1));
    expect({"batch 1 over"});
    ok(1, 0);
    ok(1, 1, 2);
    expect({"0.1 ended for good: exit 0", "lease 1.2 to 1", "1.2 ended for good: exit 0", "lease 2.2 to 1"});
}

TEST_F(BatchTest, WhatARankMayHaveClaimedThatSaidGoodbyeIsAnotherAttempt) {
    seal_forty();
    leave(2);
    dry(1, 1);
    expect({"batch 1 over", "lease 0.2 to 1"});
}

TEST_F(BatchTest, ARankThatJoinsLaterOwesNoAccount) {
    seal_forty();
    join(3, 1, true);
    expect({"revoke batch 1"});  // so that it gets some
    dry(1, 1, ids(0, 1));
    expect({});
    dry(2, 1, ids(1, 2));
    expect({"batch 1 over", "lease 2.1 to 3"});  // the rest is too small to be sealed for three ranks
    dry(3, 1);
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    ok(1, 0);
    ok(2, 1);
    expect({"0.1 ended for good: exit 0", "lease 3.1 to 1", "1.1 ended for good: exit 0", "lease 4.1 to 2"});
}

TEST_F(BatchTest, ARankLostAfterItsAccountIsBlamedForWhatItNamed) {
    seal_forty();
    dry(1, 1, ids(3, 5));
    lose(1);
    IntervalSet blamed;
    take([&](const std::string& line) {
        if (line.find("ended: worker lost") != line.npos)
            blamed.insert(static_cast<std::uint64_t>(line[0] - '0'));
    });
    EXPECT_TRUE(blamed == ids(3, 5));
}

TEST_F(BatchTest, ARankThatComesBackUnderItsNumberIsAnother) {
    seal_forty();
    join(2, 1, true);
    expect({"revoke batch 1"});
    ok(2, 0);  // late, from the former rank
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    dry(1, 1);
    expect({"batch 1 over", "lease 0.2 to 1", "lease 1.2 to 2"});
}

TEST_F(BatchTest, AFailedTicketIsRetriedByLease) {
    options({.seal_batches = true});
    join(1, 1, true);
    add(16, retries(1));
    expect({"seal batch 1: 0-15"});
    fail(1, 3);
    expect({"3.1 ended: exit 1", "lease 3.2 to 1"});
    give_back(1, 4);  // twice, as over a duplicating network
    give_back(1, 4);
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    ok(1, 3, 2);
    expect({"3.2 ended for good: exit 0", "lease 4.2 to 1"});
}

TEST_F(BatchTest, AStopRevokesIt) {
    seal_forty();
    ok(1, 0);
    stop(StopReason::interrupted, 10s);
    expect({"0.1 ended for good: exit 0", "revoke batch 1"});
    dry(1, 1, ids(1, 2));
    dry(2, 1, ids(2, 3));
    ok(2, 2);
    expect({"batch 1 over", "2.1 ended for good: exit 0"});
    ok(1, 1);
    expect({"1.1 ended for good: exit 0", "finished 75 stopped"});
}

TEST_F(BatchTest, StorageTroubleRevokesIt) {
    seal_forty();
    event(StorageTrouble{true});
    expect({"revoke batch 1"});
    dry(1, 1);
    dry(2, 1);
    expect({"batch 1 over"});
    event(StorageTrouble{false});
    expect({"seal batch 2: 0-39"});
}

TEST_F(BatchTest, NobodyClaimsWhileATaskHasItsLastChance) {
    options({.max_losses = 2, .seal_batches = true});
    join(1, 1, true);
    add(1);
    join(1, 1, true);
    expect({"lease 0.1 to 1", "0.1 ended: worker lost: worker 1 on node1: joined anew", "lease 0.2 to 1"});
    add(40);
    expect({});
    ok(1, 0, 2);
    expect({"0.2 ended for good: exit 0", "seal batch 1: 1-40"});
}

TEST_F(BatchTest, WorkersWithoutTicketsKeepTheirShare) {
    options({.expected_workers = 2, .seal_batches = true});
    join(1, 3, true);
    join(2, 1);
    add(400);
    expect({"seal batch 1: 0-299", "lease 300.1 to 1", "lease 301.1 to 1", "lease 302.1 to 2",
            "lease 303.1 to 1"});
}

// A rank that others make leave would go on claiming; one that leaves by itself does not. Ranks claim ahead
// behind short tasks. A rank with enough claimed is not asked to claim, but may hold long tasks that others
// could run now.
TEST_F(BatchTest, WhatOthersHaveClaimedAheadIsGivenToARankThatIdles) {
    seal_forty();
    all_ok(1, 0, 18);
    all_ok(2, 18, 36);
    drop_all();
    dry(1, 1);  // rank 2 has claimed the last four
    idle(49ms);
    expect({});
    idle(10ms);
    expect({"revoke batch 1"});
    dry(2, 1, ids(36, 40));
    expect({"batch 1 over"});
    idle(100ms);
    expect({"recall 1 from 2"});
    give_back(2, 39);
    expect({"lease 39.2 to 1"});
}

TEST_F(BatchTest, NothingIsCalledBackWhileTheRankThatSawTheEndIsBusy) {
    seal_forty();
    all_ok(2, 18, 38);
    drop_all();
    dry(1, 1, ids(39, 40));
    for (int beat = 0; beat < 600; ++beat) {
        idle(100ms);
        hear(1);
        hear(2);
    }
    ok(1, 39);
    expect({"39.1 ended for good: exit 0"});
    idle(50ms);
    expect({"revoke batch 1"});
}

TEST_F(BatchTest, WhoIsMadeToLeaveClaimsNoMore) {
    seal_forty();
    drain(2);
    expect({});
    event(WorkerDraining{WorkerId(1), true, true});
    expect({"revoke batch 1"});
    EXPECT_TRUE(reactor_.may_run(*reactor_.workers().find(WorkerId(1))));
    dry(1, 1, ids(0, 1));
    dry(2, 1);
    EXPECT_TRUE(reactor_.may_run(*reactor_.workers().find(WorkerId(1))));
    EXPECT_FALSE(reactor_.may_run(*reactor_.workers().find(WorkerId(2))));
    ok(1, 0);
    EXPECT_FALSE(reactor_.may_run(*reactor_.workers().find(WorkerId(1))));
    take([](const std::string&) {});
}

}  // namespace
}  // namespace wq::engine::policies

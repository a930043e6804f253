// Hosts that get no tasks: blocked by the user, or set aside as they fail what succeeds elsewhere.
#include "core/host_blocks.h"
#include "unit/core/run_fixture.h"

namespace wq::core {
namespace {

using namespace std::chrono_literals;

class BlockTest : public RunFixture {
  protected:
    void SetUp() override {
        options({.max_losses = 0, .expected_workers = 0, .away_limit = 60s, .wait_for_fitting = true});
    }
    void block(const std::string& host, std::optional<Duration> time = {}) { event(HostBlocked{host, time}); }
    void unblock(std::optional<std::string> host) { event(HostUnblocked{std::move(host)}); }
};

TEST_F(BlockTest, ABlockedHostGetsNothingAndEndsWhatItRuns) {
    join_watched(1, 2);
    add(1);
    expect({"lease 0.1 to 1"});
    block("node1");
    add(1);
    expect({"recall 1 from 1"});
    EXPECT_EQ(reactor_.waiting_for(), "1 tasks to end");
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
    EXPECT_EQ(reactor_.waiting_for(), "a worker of a host that is not blocked: 1 is");
    idle(24h);
    expect({});
    join_watched(2);
    expect({"lease 1.1 to 2"});
    EXPECT_EQ(reactor_.stats().workers_blocked, 1);
    EXPECT_EQ(reactor_.stats().hosts_blocked, 1);
    add(2);
    unblock("node1");
    take([](const std::string& line) { EXPECT_THAT(line, ::testing::EndsWith(" to 1")); });
    EXPECT_EQ(reactor_.ledger().count(TaskState::leased), 3u);
    EXPECT_EQ(reactor_.stats().hosts_blocked, 0);
    unblock("node1");  // twice is once
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

TEST_F(BlockTest, ATimeEndsItAndTheLastWordCounts) {
    join_watched(1);
    block("node1", 10s);
    add(1);
    idle(9999ms);
    expect({});
    idle(1ms);
    expect({"lease 0.1 to 1"});
    block("node1", 10s);
    block("node1");
    add(1);
    ok(1, 0);
    idle(1h);
    expect({"recall 1 from 1", "0.1 ended for good: exit 0"});
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
    block("node1");  // it cannot be told
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
    expect({"revoke batch 2"});  // so that it has a part in the next one
}

}  // namespace
}  // namespace wq::core

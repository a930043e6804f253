// Hosts that get no tasks, as a program sees them.
#include <gmock/gmock.h>

#include "unit/api/program_fixture.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using testing::FakeWorker;
using ::testing::HasSubstr;
using testing::ProgramTest;

using HostsTest = ProgramTest;

TEST_F(HostsTest, BlockedHostsGetNothingUntilTheyAreUnblocked) {
    start(2);
    FakeWorker& one = add_worker({1, "one", 1, {}});
    one.begin();
    submit(Task("a"));
    ASSERT_TRUE(wait());
    program_->block("one", 0);
    program_->block("two", 3600);
    EXPECT_THAT(program_->blocked_hosts(), ElementsAre("one", "two"));
    FakeWorker& two = add_worker({2, "two", 1, {}});
    two.begin();
    submit(Task("b"));
    while (program_->stats().workers_connected < 2) {
    }
    EXPECT_EQ(program_->task_state(2), TaskState::ready);
    EXPECT_EQ(program_->statistics().workers_blocked, 2);
    EXPECT_EQ(program_->statistics().workers_blacklisted, 2);
    EXPECT_EQ(program_->statistics().hosts_blocked, 2);
    const std::string host = "two";
    program_->unblock(&host);
    const auto b = wait();
    ASSERT_TRUE(b);
    EXPECT_EQ(b->hostname(), "two");
    program_->block("two", 1);  // ends by itself
    submit(Task("c"));
    const auto c = wait();
    ASSERT_TRUE(c);
    EXPECT_EQ(c->hostname(), "two");
    program_->unblock(nullptr);
    EXPECT_TRUE(program_->blocked_hosts().empty());
    EXPECT_EQ(one.leases().size(), 1U);
}

TEST_F(HostsTest, AHostThatFailsWhatGoesOnElsewhereIsSetAsideAndSaidSo) {
    start(2);
    FakeWorker& good = add_worker({1, "good", 8, {}});
    for (int i = 0; i < 8; ++i) submit(Task("a").cores(1));
    good.wait_for_leases(8);
    FakeWorker& bad =
        add_worker({2, "bad", 1, {}}, [](const net::messages::Lease&, net::messages::Ended& ended) {
            ended.outcome.exit_code = 127;
            ended.outcome.wall_us = 1000;
        });
    bad.begin();
    // For a second and a little more it fails them; then they wait.
    std::int64_t submitted = 8;
    while (program_->blocked_hosts().empty()) {
        submit(Task("b").cores(1));
        ++submitted;
        program_->wait(std::chrono::milliseconds(100));
    }
    EXPECT_THAT(program_->blocked_hosts(), ElementsAre("bad"));
    while (said().empty()) std::this_thread::yield();
    EXPECT_THAT(said(), HasSubstr("host bad is excluded until "));
    EXPECT_THAT(said(), HasSubstr("(the last one: exit 127); elsewhere 0 of 8 did; unblock_host() readmits"));
    const std::size_t leases = bad.leases().size();
    submit(Task("c"));
    EXPECT_NE(program_->task_state(submitted + 1), TaskState::done);
    EXPECT_EQ(bad.leases().size(), leases);
    const std::string name = "bad";
    program_->unblock(&name);
    EXPECT_TRUE(program_->blocked_hosts().empty());
    submit(Task("d"));
    bad.wait_for_leases(leases + 1);
}

TEST_F(HostsTest, AHostWithoutANameIsNotBlocked) {
    start(1);
    program_->block("", 0);
    EXPECT_TRUE(program_->blocked_hosts().empty());
    EXPECT_THAT(said(), HasSubstr("block_host: the name of the host is empty"));
}

TEST_F(HostsTest, NoneIsSetAsideWhereThatIsTunedAway) {
    start(1);
    EXPECT_TRUE(tune("exclude-failing-hosts", 0));
    EXPECT_TRUE(tune("set-hosts-aside", 1));
    EXPECT_FALSE(tune("set-hosts-aside", -1));
    EXPECT_THAT(error_, HasSubstr("at least 0"));
}

}  // namespace
}  // namespace wq

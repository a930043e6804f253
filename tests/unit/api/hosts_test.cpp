// Hosts that get no tasks, as a program sees them.
#include <gmock/gmock.h>

#include "unit/api/program_fixture.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using testing::FakeWorker;
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

}  // namespace
}  // namespace wq

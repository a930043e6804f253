// What a program sees of tasks that are tried more than once.
#include <gmock/gmock.h>

#include "unit/api/logs_fixture.h"

namespace wq {
namespace {

using testing::FakeWorker;
using ::testing::HasSubstr;
using testing::LogsTest;

using RetriesTest = LogsTest;

// Five retries are six tries; what the task brought about itself is none.
TEST_F(RetriesTest, ATaskIsTriedOnceMoreThanItsRetriesAndEndsAsTheManualSays) {
    api::ProgramManagerOptions options;
    options.logs.transactions = path("tr.log");
    start(1, std::move(options));
    FakeWorker& worker = add_worker({}, [](const net::messages::Lease& lease, net::messages::Ended& ended) {
        if (lease.text == "fails")
            ended.outcome.exit_code = 3;
        else
            ended.outcome.ending = engine::model::Ending::out_of_memory;
    });
    worker.begin();
    submit(Task("hungry").max_retries(5));
    auto task = wait();
    ASSERT_TRUE(task);
    EXPECT_EQ(task->result(), TaskResult::max_retries);
    EXPECT_EQ(task->attempts(), 6U);
    EXPECT_EQ(task->exhausted_attempts(), 6U);
    EXPECT_EQ(task->reason(), "out of memory: tried 6 times");
    EXPECT_EQ(task->exit_status(), 0);
    submit(Task("hungry"));
    submit(Task("hungry").memory(100).max_retries(5));
    submit(Task("fails").max_retries(5));
    for (int i = 0; i < 3; ++i) {
        task = wait();
        ASSERT_TRUE(task);
        EXPECT_EQ(task->attempts(), 1U) << task->id();
        EXPECT_EQ(task->result(),
                  task->command() == "fails" ? TaskResult::success : TaskResult::resource_exhaustion);
    }
    const Statistics stats = program_->statistics();
    EXPECT_EQ(stats.tasks_exhausted_attempts, 8);
    EXPECT_EQ(stats.tasks_lost_attempts, 0);
    program_.reset();
    std::string ends;
    for (const std::string& line : lines("tr.log"))
        if (const auto at = line.find("TASK 1 DONE"); at != std::string::npos && !line.starts_with("#"))
            ends += line.substr(at, line.find('{') - at);
    EXPECT_EQ(ends, "TASK 1 DONE MAX_RETRIES 9 ");
}

TEST_F(RetriesTest, ATaskThatIsLostTooOftenIsToldApartFromOneThatUsesUpItsMemory) {
    start(3);
    add_worker({1, "one", 1});
    submit(Task("a").max_retries(1));
    workers_.back()->wait_for_leases(1);
    workers_.clear();
    FakeWorker& second = add_worker({2, "two", 1});
    second.wait_for_leases(1);
    workers_.clear();
    const auto task = wait();
    ASSERT_TRUE(task);
    EXPECT_EQ(task->result(), TaskResult::max_retries);
    EXPECT_THAT(task->reason(), HasSubstr("lost 2 workers"));
    EXPECT_EQ(program_->statistics().tasks_lost_attempts, 2);
    EXPECT_EQ(program_->statistics().tasks_exhausted_attempts, 0);
}

// The worker that does not answer would keep it for ever.
TEST_F(RetriesTest, ATaskThatTakesTooLongRunsOnAnotherHost) {
    start(2);
    FakeWorker& slow = add_worker({1, "slow", 1});
    slow.answer(10);
    for (int i = 0; i < 10; ++i) submit(Task("a").category("work"));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(wait());
    EXPECT_FALSE(program_->activate_fast_abort("default", -1));
    EXPECT_TRUE(program_->activate_fast_abort("default", 2));
    EXPECT_FALSE(program_->activate_fast_abort("other", 0));
    submit(Task("a").category("work"));
    slow.wait_for_leases(11);
    add_worker({2, "quick", 1}).begin();
    const auto task = wait();
    ASSERT_TRUE(task);
    EXPECT_TRUE(task->ok());
    EXPECT_EQ(task->hostname(), "quick");
    EXPECT_EQ(task->attempts(), 2U);
    EXPECT_EQ(slow.kills().size(), 1U);
    EXPECT_EQ(program_->statistics().workers_fast_aborted, 1);
    EXPECT_EQ(program_->statistics_of("work").workers_fast_aborted, 1);
    EXPECT_EQ(program_->statistics_of("other").workers_fast_aborted, 0);
}

}  // namespace
}  // namespace wq

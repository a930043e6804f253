// Cancelling: in every state, by id, tag and category, and ranges as a whole.
#include <gmock/gmock.h>

#include <set>

#include "unit/api/program_fixture.h"
#include "work_queue/call.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using testing::FakeWorker;
using testing::ProgramTest;

TEST_F(ProgramTest, CancelsInEveryStateAndGivesTheTaskBackAtOnce) {
    start(1);
    submit(Task("waits").tag("w"));
    auto cancelled = program_->cancel(1);
    ASSERT_TRUE(cancelled);
    EXPECT_EQ(cancelled->command(), "waits");
    EXPECT_EQ(cancelled->result(), TaskResult::unknown);
    EXPECT_EQ(program_->task_state(1), TaskState::canceled);
    EXPECT_TRUE(program_->empty());
    EXPECT_FALSE(program_->cancel(1));
    EXPECT_FALSE(program_->cancel(77));

    FakeWorker& worker = add_worker();
    submit(Task("runs").tag("r"));
    worker.wait_for_leases(1);
    EXPECT_EQ(program_->task_state(2), TaskState::running);
    cancelled = program_->cancel_tagged("r");
    ASSERT_TRUE(cancelled);
    EXPECT_EQ(cancelled->id(), 2);
    EXPECT_FALSE(program_->cancel_tagged("r"));

    worker.begin();
    submit(Task("ends").tag("e"));
    submit(Task("ends").tag("f"));
    const std::string f = "f";
    ASSERT_TRUE(program_->wait(std::nullopt, &f));  // so the one before has ended too
    EXPECT_EQ(program_->task_state(3), TaskState::retrieved);
    cancelled = program_->cancel(3);  // a result that nobody has fetched
    ASSERT_TRUE(cancelled);
    EXPECT_TRUE(cancelled->ok());
    EXPECT_EQ(program_->task_state(4), TaskState::done);
    EXPECT_TRUE(program_->empty());
    const std::vector<net::messages::Kill> kills = worker.kills();
    ASSERT_EQ(kills.size(), 1U);
    EXPECT_EQ(kills[0].task, TaskId(1));
    EXPECT_EQ(program_->stats().tasks_cancelled, 2);
}

TEST_F(ProgramTest, CancelsByTagOneByOneAndByCategoryAtOnce) {
    start(1);
    for (int i = 0; i < 3; ++i) submit(Task("a").tag("same"));
    std::set<std::int64_t> ids;
    while (auto task = program_->cancel_tagged("same")) ids.insert(task->id());
    EXPECT_THAT(ids, ElementsAre(1, 2, 3));
    for (int i = 0; i < 3; ++i) submit(Task("no tag"));
    submit(Task("a").tag("other"));
    while (auto task = program_->cancel_tagged("")) ids.insert(task->id());
    EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_TRUE(program_->cancel_tagged("other"));
    for (int i = 0; i < 2000; ++i) submit(Task("b").category(i % 2 == 0 ? "even" : "odd"));
    const std::string odd = "odd";
    EXPECT_EQ(program_->cancel_category(&odd).size(), 1000U);
    EXPECT_EQ(program_->statistics_of("odd").tasks_cancelled, 1000);
    EXPECT_EQ(program_->statistics_of("even").tasks_waiting, 1000);
    EXPECT_EQ(program_->cancel_category(nullptr).size(), 1000U);
    EXPECT_TRUE(program_->empty());
}

TEST_F(ProgramTest, CancellingATaskTakesNoResultOfAnotherWithItsTag) {
    start(1);
    FakeWorker& worker = add_worker({1, "host", 1, {}});
    submit(Task("ends").tag("t").cores(1));
    submit(Task("ends").tag("u").cores(1));
    submit(Task("runs").tag("t").cores(1));
    worker.answer(2);
    const std::string u = "u";
    ASSERT_TRUE(program_->wait(std::nullopt, &u));  // so the one before has ended too
    const auto cancelled = program_->cancel_tagged("t");
    ASSERT_TRUE(cancelled);
    EXPECT_EQ(cancelled->command(), "runs");
    EXPECT_EQ(cancelled->result(), TaskResult::unknown);
    const auto ended = wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->command(), "ends");
    EXPECT_TRUE(program_->empty());
}

// Index by index this would take hours.
TEST_F(ProgramTest, CancelsALongRangeAtOnce) {
    start(1);
    FakeWorker& worker = add_worker({1, "host", 4, {"function:f"}});
    const std::int64_t id = submit(Task::range("f", 0, 1'000'000'000'000).tag("long"));
    worker.wait_for_leases(4);
    auto range = program_->cancel(id);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->tag(), "long");
    EXPECT_EQ(range->result(), TaskResult::unknown);
    EXPECT_EQ(range->progress().size, 1'000'000'000'000U);
    EXPECT_EQ(program_->task_state(id + 77'777), TaskState::canceled);
    EXPECT_TRUE(program_->empty());
    EXPECT_FALSE(program_->wait(std::nullopt));
    EXPECT_EQ(program_->stats().tasks_cancelled, 1'000'000'000'000);
    submit(Task::range("f", 0, 1'000'000'000'000));
    EXPECT_EQ(program_->cancel_category(nullptr).size(), 1U);
}

TEST_F(ProgramTest, AnyIdOfARangeCancelsItAndItsFailedCallsStay) {
    start(1);
    FakeWorker& worker = add_worker({1, "host", 1, {"function:f"}},
                                    [](const net::messages::Lease& lease, net::messages::Ended& ended) {
                                        ended.outcome.exit_code = lease.task == TaskId(0) ? 1 : 0;
                                        ended.outcome.wall_us = 5'000'000;
                                    });
    for (const std::int64_t which : {0, 7}) {
        const std::int64_t id = submit(Task::range("f", 10, 20).cores(1));
        worker.answer(3);
        worker.wait_for_leases(which == 0 ? 4 : 8);
        const auto range = program_->cancel(id + which);
        ASSERT_TRUE(range);
        EXPECT_EQ(range->kind(), TaskKind::range);
        EXPECT_EQ(range->id(), id);
        worker.wait_for_kills(which == 0 ? 1 : 2);  // else the next answer may be to the killed call
        if (which != 0) continue;
        EXPECT_EQ(range->progress().failed_total, 1U);
        const auto failed = wait();  // its first call, whose id is the range's
        ASSERT_TRUE(failed);
        EXPECT_EQ(failed->index(), 10);
    }
    EXPECT_TRUE(program_->empty());
}

TEST_F(ProgramTest, ACancelledRangeTellsAtOnceWhatNobodyHasHeard) {
    start(1);
    FakeWorker& worker = add_worker(
        {1, "host", 1, {"function:f"}}, [](const net::messages::Lease& lease, net::messages::Ended& ended) {
            ended.outcome.exit_code = lease.task == TaskId(1) ? 1 : 0;
            ended.outcome.wall_us = 5'000'000;  // so that none is given out beside it
        });
    const std::int64_t id = submit(Task::range("f", 10, 20).cores(1).tag("r"));
    worker.answer(3);
    worker.wait_for_leases(4);
    const auto range = program_->cancel(id);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->progress().done_total, 2U);
    EXPECT_EQ(range->progress().failed_total, 1U);
    EXPECT_EQ(range->progress().done_now, 2U);
    EXPECT_THAT(range->progress().done, ElementsAre(std::pair(10L, 11L), std::pair(12L, 13L)));
    EXPECT_FALSE(program_->empty()) << "the call that failed is still to be heard";
    const auto failed = wait();
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->index(), 11);
    EXPECT_EQ(program_->statistics().tasks_done, 3) << "two by the cancelled range, one by the failed call";
    EXPECT_TRUE(program_->empty());
    EXPECT_FALSE(program_->wait(std::nullopt));
}

}  // namespace
}  // namespace wq

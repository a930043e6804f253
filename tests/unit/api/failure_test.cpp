// The manager's thread fails, as when no memory is left: what has ended is not lost, the rest comes back with
// the reason, and nobody waits for ever.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <set>

#include "unit/api/program_fixture.h"

namespace {
// Allocations of this thread until one fails; 0: none does.
thread_local std::uint64_t allocations_left = 0;
}  // namespace

void* operator new(std::size_t size) {
    if (allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
// AddressSanitizer has one of its own, whose memory the operator below may not free.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocations_left > 0 && --allocations_left == 0 ? nullptr : std::malloc(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace wq {
namespace {

using testing::FakeWorker;
using testing::FakeWorkerOptions;
using ::testing::HasSubstr;
using testing::ProgramTest;

constexpr const char* ended = "the manager has ended: no memory left";

TEST(Asking, TellsTheAskerWhatItsRequestThrew) {
    api::CommandQueue queue;
    std::thread asker([&] { EXPECT_THROW(queue.ask([] { throw std::bad_alloc(); }), std::bad_alloc); });
    std::vector<api::CommandQueue::Command> commands;
    while (commands.empty()) queue.take(commands);
    EXPECT_THROW(std::get<std::unique_ptr<api::Asked>>(commands.front())->run(), std::bad_alloc);
    asker.join();
}

TEST(Asking, EndsWhenTheRequestIsDropped) {
    api::CommandQueue queue;
    std::thread asker([&] { EXPECT_FALSE(queue.ask([] { FAIL() << "it ran"; })); });
    while (!queue.has_more()) {
    }
    queue.fail("no memory left");
    queue.drop_requests();
    asker.join();
    EXPECT_EQ(queue.why_closed(), ended);
    EXPECT_FALSE(queue.ask([] {}));
}

class FailureTest : public ProgramTest {
  protected:
    // From the next turn of its loop on the manager's thread has memory for fewer than so many allocations.
    void fail_at(std::uint64_t allocation) { fails_at_ = allocation; }
    void start_failing(std::size_t workers = 1) {
        api::ProgramManagerOptions options;
        options.on_turn = [this](const engine::model::ManagerStats&) {
            if (const std::uint64_t at = fails_at_.exchange(0)) allocations_left = at;
        };
        start(workers, std::move(options));
    }
    void fail_now() {
        fail_at(1);
        while (program_->failure().empty()) static_cast<void>(ask());
    }
    // False: it threw, or was not answered.
    bool ask() {
        try {
            return tune("hungry-minimum", 10);
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    std::atomic<std::uint64_t> fails_at_{0};
};

TEST_F(FailureTest, GivesBackWhatHasEndedAndThenTheRestWithTheReason) {
    start_failing();
    FakeWorker& worker = add_worker();
    for (const char* tag : {"a", "b", "a", "c", "d"}) submit(Task("work").tag(tag).category(tag));
    submit(Task::range("f", 0, 10).tag("range"));
    worker.wait_for_leases(1);
    worker.answer(1);
    while (program_->task_state(1) != TaskState::retrieved) {
    }
    fail_now();

    const auto first = wait();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->id(), 1);
    EXPECT_TRUE(first->ok());
    const std::string c = "c";
    const auto tagged = program_->wait(std::nullopt, &c);
    ASSERT_TRUE(tagged);
    EXPECT_EQ(tagged->id(), 4);
    EXPECT_EQ(program_->task_state(3), TaskState::retrieved);
    EXPECT_EQ(program_->why(3), ended);
    const auto cancelled = program_->cancel_tagged("a");
    ASSERT_TRUE(cancelled);
    EXPECT_EQ(cancelled->id(), 3);
    EXPECT_EQ(program_->task_state(3), TaskState::unknown);
    const std::string d = "d";
    EXPECT_EQ(program_->cancel_category(&d).size(), 1U);
    const auto second = wait();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->id(), 2);
    EXPECT_EQ(second->result(), TaskResult::forsaken);
    EXPECT_EQ(second->reason(), ended);
    const auto range = wait();
    ASSERT_TRUE(range);
    EXPECT_EQ(range->id(), 6);
    EXPECT_EQ(range->result(), TaskResult::forsaken);
    EXPECT_EQ(range->progress().size, 10U);
    EXPECT_EQ(range->progress().done_total, 0U);
    EXPECT_TRUE(program_->empty());
    EXPECT_FALSE(wait());
}

TEST_F(FailureTest, IsToldToEveryLaterCall) {
    start_failing();
    fail_now();
    EXPECT_EQ(program_->failure(), ended);
    EXPECT_EQ(submit(Task("late")), 0);
    EXPECT_EQ(error_, ended);
    EXPECT_FALSE(tune("hungry-minimum", 10));
    EXPECT_EQ(error_, ended);
    EXPECT_FALSE(program_->set_category("c", {}));
    EXPECT_FALSE(program_->begin_categories({}, {}));
    EXPECT_FALSE(program_->monitor({}, ""));
    EXPECT_EQ(program_->ended().message, ended);
    EXPECT_TRUE(program_->empty());
    program_->end();  // by then the line is said
    EXPECT_THAT(said(), HasSubstr(ended));
}

TEST_F(FailureTest, WakesWhoWaits) {
    start_failing();
    submit(Task("waits"));
    std::thread waiter([&] {
        const auto task = program_->wait(std::nullopt);
        ASSERT_TRUE(task);
        EXPECT_EQ(task->reason(), ended);
    });
    fail_now();
    waiter.join();
    EXPECT_FALSE(program_->wait(std::nullopt));
}

// Every allocation of the manager's thread fails in turn, from its first turn on until all tasks have ended:
// 260 to 350 of them, as many as its turns happen to need.
TEST_F(FailureTest, LosesNoTaskWhereverMemoryRunsOut) {
    std::size_t failures = 0;
    for (std::uint64_t at = 1; at <= 350; ++at) {
        SCOPED_TRACE("allocation " + std::to_string(at));
        start_failing(2);
        fail_at(at);
        // A worker whose message could not be read is lost: the other one does the work.
        for (const std::uint32_t rank : {1U, 2U}) {
            FakeWorkerOptions of_worker;
            of_worker.rank = rank;
            of_worker.features = {"function:f"};
            const auto answer = [](const net::messages::Lease& lease, net::messages::Ended& told) {
                told.output.out = "an output that is too long for the inside of a string";
                if (lease.task == TaskId(14)) told.outcome.exit_code = 1;
            };
            add_worker(of_worker, answer).begin();
        }
        std::set<std::int64_t> submitted;
        for (int i = 0; i < 12; ++i) {
            Task task = Task("work").tag("a tag that is too long for the inside " + std::to_string(i % 4));
            if (const std::int64_t id = submit(std::move(task.category(i < 6 ? "default" : "other"))))
                submitted.insert(id);
            else
                EXPECT_EQ(error_, ended);
            if (i == 8) static_cast<void>(ask());
        }
        const std::int64_t range = submit(Task::range("f", 0, 6));
        std::set<std::int64_t> returned;
        std::uint64_t calls = 0;
        int last_reports = 0;
        while (!program_->empty()) {
            const auto task = wait();
            ASSERT_TRUE(task);
            if (task->kind() == TaskKind::range) {
                const RangeProgress& progress = task->progress();
                calls += progress.done_now;
                const bool forsaken = task->result() == TaskResult::forsaken;
                last_reports += forsaken || progress.complete ? 1 : 0;
                ASSERT_TRUE(!progress.complete || progress.done_total + progress.failed_total == 6);
                ASSERT_TRUE(!forsaken || task->reason() == ended);
                continue;
            }
            if (task->kind() == TaskKind::call) {
                ASSERT_EQ(task->id(), 15);
                ++calls;
                continue;
            }
            ASSERT_TRUE(returned.insert(task->id()).second) << "task " << task->id() << " came twice";
            if (task->result() == TaskResult::success) {
                ASSERT_EQ(task->output().size(), 53U);
                continue;
            }
            ASSERT_EQ(task->result(), TaskResult::forsaken);
            ASSERT_EQ(task->reason(), ended);
        }
        ASSERT_EQ(returned, submitted);
        ASSERT_EQ(last_reports, range != 0 ? 1 : 0);
        ASSERT_TRUE(calls == 6 || (calls < 6 && !program_->failure().empty()));
        failures += program_->failure().empty() ? 0 : 1;
        program_.reset();
        workers_.clear();
    }
    EXPECT_GT(failures, 100U);
}

}  // namespace
}  // namespace wq

// Tasks that take too long, and blocked hosts, with workers as processes.
#include <errno.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "program_fixture.h"

namespace wq {
namespace {

using testing::Program;

class Stragglers : public Program {
  protected:
    // Ten tasks that take almost no time.
    void ten_succeed() {
        for (int i = 0; i < 10; ++i) manager_->submit(Task("true"));
        for (int i = 0; i < 10; ++i) {
            const auto task = manager_->wait();
            ASSERT_TRUE(task && task->ok());
        }
    }
    // Its first attempt sleeps for longer than any test; the others end at once.
    Task straggler() const {
        return Task("mkdir " + folder_ + "/once && echo $$ > " + folder_ +
                    "/pid && exec sleep 1000 || echo second");
    }
    // The process of the first attempt was killed and reaped.
    bool first_has_ended() const {
        pid_t pid = 0;
        std::ifstream(folder_ + "/pid") >> pid;
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < until) {
            if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) return true;
            std::this_thread::yield();
        }
        return false;
    }
};

TEST_F(Stragglers, AnAttemptThatTakesTooLongIsKilledAndTheNextOneCounts) {
    start_worker();
    ten_succeed();
    ASSERT_TRUE(manager_->activate_fast_abort(2));
    manager_->submit(straggler());
    const auto task = manager_->wait();
    ASSERT_TRUE(task);
    EXPECT_TRUE(task->ok()) << task->reason();
    EXPECT_EQ(task->output(), "second\n");
    EXPECT_EQ(task->attempts(), 2u);
    EXPECT_EQ(manager_->stats().workers_fast_aborted, 1);
    EXPECT_EQ(manager_->stats().workers_connected, 1) << "the worker stays";
    EXPECT_TRUE(first_has_ended());
}

TEST_F(Stragglers, OfTwoCopiesTheFirstResultCountsAndTheOtherIsKilled) {
    start_worker();
    start_worker();
    ten_succeed();
    ASSERT_TRUE(manager_->tune("speculate", 2));
    manager_->submit(straggler());
    const auto task = manager_->wait();
    ASSERT_TRUE(task);
    EXPECT_TRUE(task->ok()) << task->reason();
    EXPECT_EQ(task->output(), "second\n");
    EXPECT_EQ(task->attempts(), 2u);
    EXPECT_EQ(manager_->stats().tasks_copied_attempts, 1);
    EXPECT_TRUE(manager_->empty());
    EXPECT_TRUE(first_has_ended());
}

TEST_F(Stragglers, ABlockedHostGetsNothing) {
    start_worker();
    manager_->submit(Task("true"));
    const auto first = manager_->wait();
    ASSERT_TRUE(first);
    manager_->block_host(first->hostname());
    const auto id = manager_->submit(Task("true"));
    EXPECT_EQ(manager_->task_state(id), TaskState::ready);
    EXPECT_EQ(manager_->stats().workers_blocked, 1);
    manager_->unblock_all();
    const auto second = manager_->wait();
    ASSERT_TRUE(second);
    EXPECT_TRUE(second->ok());
}

}  // namespace
}  // namespace wq

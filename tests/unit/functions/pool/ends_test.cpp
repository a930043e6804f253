#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <thread>

#include "support.h"
#include "work_queue/job_executor.h"

namespace wq {
namespace {

using executor_tests::Gate;
using executor_tests::number;
using executor_tests::patience;
using executor_tests::Shared;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

// After each test no process, thread or descriptor is left.
class Ends : public executor_tests::NothingLeft {};

TEST_F(Ends, WithoutAStart) {
    const JobExecutor executor([](Batch in) { return in; }, 3);
    EXPECT_THAT(executor_tests::workers(), IsEmpty());
}

TEST_F(Ends, WithFullQueues) {
    JobExecutor executor([](Batch in) { return in; }, 2);
    executor.start();
    Batch batch;
    batch.set("a", Array::of<char>({100000}));
    for (int n = 0; n < 1000; ++n) executor.put(batch);
    EXPECT_THAT(executor_tests::workers(), SizeIs(2));
}

TEST_F(Ends, WithAWorkerInAnEndlessLoop) {
    Shared<Gate> began;
    JobExecutor executor(
        [began = began.get()](Batch in) {
            began->open();
            for (volatile bool for_ever = true; for_ever;) {
            }
            return in;
        },
        1);
    executor.start();
    ASSERT_TRUE(executor.put(number(0)));
    began->pass();
    executor.close(milliseconds(100));
    EXPECT_FALSE(executor.take());
}

TEST_F(Ends, WithAFunctionThatIgnoresSignalsAndHasChildren) {
    Shared<Gate> began;
    JobExecutor executor(
        [began = began.get()](Batch in) {
            for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_IGN);
            if (fork() == 0) {
                setsid();
                began->open();
            }
            for (;;) pause();
            return in;
        },
        1);
    executor.start();
    ASSERT_TRUE(executor.put(number(0)));
    began->pass();
    executor.close(milliseconds(100));
}

TEST_F(Ends, AfterTheJobThatRuns) {
    Shared<Gate> began;
    Shared<Gate> goes_on;
    Shared<std::atomic<int>> ended;
    JobExecutor executor(
        [began = began.get(), goes_on = goes_on.get(), ended = ended.get()](Batch in,
                                                                            const JobContext& context) {
            began->open();
            while (!context.stopping()) std::this_thread::yield();
            goes_on->pass();
            ++*ended;
            return in;
        },
        1);
    executor.start();
    ASSERT_TRUE(executor.put(number(0)));
    began->pass();
    ASSERT_TRUE(executor.put(number(1)));
    goes_on->open(2);
    executor.close();
    EXPECT_EQ(*ended, 1);
}

TEST_F(Ends, AmidCrashes) {
    for (int turn = 0; turn < executor_tests::some_of(30); ++turn) {
        JobExecutor executor([](const Batch&) { _exit(1); }, 2, {.retries = 1000000});
        executor.start();
        for (int n = 0; n < 4; ++n) executor.put(number(n));
    }
}

TEST_F(Ends, ByAbort) {
    Shared<Gate> began;
    const auto never_ends = [began = began.get()](Batch in) {
        if (in.integer("n") == 0) return in;
        began->open();
        for (;;) pause();
        return in;
    };
    JobExecutor first(never_ends, 2);
    JobExecutor second(never_ends, 1);
    JobExecutor other([](Batch in) { return in; }, 1);
    first.start();
    second.start();
    other.start();
    for (JobExecutor<>* const executor : {&first, &second}) {
        ASSERT_TRUE(executor->put(number(0)));
        while (!executor->is_idle()) {
        }
        ASSERT_TRUE(executor->put(number(1)));
        began->pass();
    }
    first.abort();
    EXPECT_TRUE(first.take());  // was here before
    EXPECT_FALSE(first.take());
    EXPECT_THAT([&] { first.put(number(0)); }, ThrowsMessage<ExecutorClosed>(HasSubstr("after abort()")));
    ASSERT_TRUE(other.put(number(5)));
    EXPECT_EQ(other.take()->value->integer("n"), 5);

    JobExecutor<>::abort_all();
    EXPECT_TRUE(second.take());
    EXPECT_FALSE(second.take());
    EXPECT_THROW(second.put(number(0)), ExecutorClosed);
    EXPECT_THROW(other.put(number(0)), ExecutorClosed);
    first.close();
    second.close();
    other.close();
    EXPECT_THAT(executor_tests::processes(), IsEmpty());
    JobExecutor later([](Batch in) { return in; }, 1);
    later.start();
    ASSERT_TRUE(later.put(number(6)));
    EXPECT_EQ(later.take()->value->integer("n"), 6);
}

TEST_F(Ends, ByAbortWhileItStarts) {
    for (int turn = 0; turn < executor_tests::some_of(30); ++turn) {
        JobExecutor executor([](Batch in) { return in; }, 1);
        std::thread other([&] { executor.abort(); });
        try {
            executor.start();
        } catch (const SetupError&) {
        }
        other.join();
        EXPECT_THROW(executor.put(number(0)), ExecutorClosed);
    }
}

// The zygote, which kills what workers have started, does not come to that in time.
TEST_F(Ends, WithAZygoteThatIsSlow) {
    struct Started {
        std::atomic<pid_t> pid{0};
        Gate gate;
    };
    Shared<Started> started;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    JobExecutor executor(
        [started = started.get()](const Batch&) {
            const pid_t child = fork();
            if (child == 0) {
                setsid();
                for (;;) pause();
            }
            started->pid = child;
            started->gate.open();
            for (;;) pause();
        },
        1);
    executor.start();
    ASSERT_TRUE(executor.put(number(0)));
    started->gate.pass();
    kill(executor_tests::processes_named("wq_job_zygote").front(), SIGSTOP);
    executor.close(milliseconds(100));
    // Orphans are ours, once their parents have ended.
    int status = 0;
    for (bool is_reaped = false; !is_reaped || !executor_tests::processes().empty();)
        if (waitpid(-1, is_reaped ? nullptr : &status, WNOHANG) == started->pid) is_reaped = true;
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(Ends, WhileAnotherThreadTakes) {
    JobExecutor executor([](Batch in) { return in; }, 1);
    executor.start();
    std::thread taker([&] {
        while (executor.take()) {
        }
    });
    for (int n = 0; n < 10; ++n) executor.put(number(n));
    executor.close();
    taker.join();
}

// A child that the program forks has no part in it, whether it exits in whatever way.
TEST_F(Ends, InACopyOfTheProgramItDoesNothing) {
    const pid_t child = [] {
        auto executor = std::make_unique<JobExecutor<>>([](Batch in) { return in; }, 1);
        executor->start();
        const pid_t forked = fork();
        if (forked == 0) {
            int wrong = 0;
            try {
                executor->put(number(1));
                wrong = 1;
            } catch (const ExecutorClosed&) {
            }
            if (executor->take()) wrong = 2;
            executor->close();
            executor.reset();
            _exit(wrong);
        }
        int status = -1;
        EXPECT_EQ(waitpid(forked, &status, 0), forked);
        EXPECT_EQ(status, 0);
        EXPECT_TRUE(executor->put(number(1)));
        EXPECT_TRUE(executor->take(patience));
        return forked;
    }();
    EXPECT_GT(child, 0);
}

TEST_F(Ends, WhenTheProgramCallsExit) {
    Shared<Gate> began;
    const pid_t program = fork();
    if (program == 0) {
        static std::unique_ptr<JobExecutor<>> executor;
        executor = std::make_unique<JobExecutor<>>(
            [began = began.get()](const Batch&, const JobContext& context) {
                began->open();
                while (!context.stopping()) std::this_thread::yield();
            },
            1);
        executor->start();
        executor->put(number(0));
        executor->put(number(1));
        began->pass();
        std::exit(5);
    }
    int status = 0;
    ASSERT_EQ(waitpid(program, &status, 0), program);
    EXPECT_EQ(WEXITSTATUS(status), 5);
}

// Even if a child lives on, with copies of all its descriptors.
TEST_F(Ends, WithItsProgramHoweverThatEnds) {
    struct Pids {
        std::atomic<pid_t> worker{0};
        std::atomic<pid_t> child{0};
        Gate ready;
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const int signal : {0, SIGKILL}) {
        Shared<Pids> pids;
        const pid_t program = fork();
        if (program == 0) {
            static JobExecutor<>* executor = nullptr;
            executor = new JobExecutor<>(
                [pids = pids.get()](const Batch&) {
                    pids->worker = getpid();
                    pids->ready.open(2);
                    for (;;) pause();
                },
                1);
            executor->start();
            const pid_t child = fork();
            if (child == 0)
                for (;;) pause();
            pids->child = child;
            executor->put(number(0));
            if (signal != 0)
                for (;;) pause();
            pids->ready.pass();
            _exit(0);
        }
        pids->ready.pass();
        if (signal != 0) kill(program, signal);
        int status = 0;
        ASSERT_EQ(waitpid(program, &status, 0), program);
        // Orphans are ours: all but the program's child have ended.
        const auto reap_until = [](std::size_t left) {
            while (executor_tests::processes().size() > left) waitpid(-1, nullptr, WNOHANG);
        };
        reap_until(1);
        EXPECT_THAT(executor_tests::processes(), ElementsAre(pids->child.load()));
        kill(pids->child, SIGKILL);
        reap_until(0);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace wq

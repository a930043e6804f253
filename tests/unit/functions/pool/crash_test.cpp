#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>

#include "support.h"
#include "work_queue/job_executor.h"

namespace wq {
namespace {

using executor_tests::Gate;
using executor_tests::number;
using executor_tests::patience;
using executor_tests::Shared;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

class Crash : public executor_tests::NothingLeft {};

[[noreturn]] void die(int signal) {
    ::signal(signal, SIG_DFL);  // sanitizers handle some
    ::raise(signal);
    std::abort();
}

Batch die_as_asked(Batch in) {
    switch (in.integer("n")) {
        case 1:
            die(SIGSEGV);
        case 2:
            die(SIGKILL);
        case 3:
            _exit(3);
        case 4:
            std::exit(4);
        case 5:
            die(SIGABRT);
        case 6:
            _exit(0);
        default:
            return in;
    }
}

TEST_F(Crash, IsTheErrorOfItsJobAndOfNoOther) {
    const Shared<std::atomic<int>> exit_handlers;
    static std::atomic<int>* counted = nullptr;
    counted = exit_handlers.get();
    std::atexit([] {
        if (counted != nullptr) ++*counted;
    });
    JobExecutor executor(die_as_asked, 1, {.max_queue_size_per_worker = 20});
    executor.start();
    const std::vector<std::pair<int, const char*>> jobs{
        {0, ""},
        {1, "worker 0 was killed by SIGSEGV (Segmentation fault)"},
        {0, ""},
        {2, "SIGKILL"},
        {3, "worker 0 ended with exit code 3"},
        {0, ""},
        {4, "exit code 4"},
        {5, "SIGABRT"},
        {6, "exit code 0"},
        {0, ""}};
    for (const auto& job : jobs) ASSERT_TRUE(executor.put(number(job.first)));
    for (const auto& [n, error] : jobs) {
        const auto result = executor.take(patience);
        ASSERT_TRUE(result);
        if (n == 0) {
            EXPECT_TRUE(*result) << result->error;
        } else {
            EXPECT_FALSE(*result);
            EXPECT_THAT(result->error, HasSubstr(error));
        }
    }
    EXPECT_TRUE(executor.is_idle());
    std::ostringstream report;
    executor.job_report(report);
    EXPECT_THAT(report.str(), HasSubstr("4 jobs done, 6 failed, died 6 times"));
    EXPECT_EQ(*exit_handlers, 0);
    counted = nullptr;
}

TEST_F(Crash, IsTriedAgainAsOftenAsAsked) {
    Shared<std::atomic<int>> runs;
    JobExecutor executor(
        [runs = runs.get()](Batch in, const JobContext& context) {
            ++*runs;
            in.array("a").mutable_values<char>()[0]++;
            if (context.attempt <= static_cast<std::uint32_t>(in.integer("n"))) die(SIGKILL);
            in.set("attempt", context.attempt);
            return in;
        },
        1, {.max_queue_size_per_worker = 10, .retries = 2});
    executor.start();
    const auto job = [](int deaths) {
        Batch batch = number(deaths);
        batch.set("a", Array::of<char>({100000}));
        batch.array("a").mutable_values<char>()[0] = 10;
        return batch;
    };
    for (const int deaths : {0, 1, 2, 3, 0}) ASSERT_TRUE(executor.put(job(deaths)));
    for (const int deaths : {0, 1, 2, 3, 0}) {
        const auto result = executor.take(patience);
        ASSERT_TRUE(result);
        EXPECT_EQ(result->metadata.attempt, static_cast<std::uint32_t>(std::min(deaths + 1, 3)));
        if (deaths == 3) {
            EXPECT_THAT(result->error, HasSubstr("SIGKILL"));
            continue;
        }
        ASSERT_TRUE(*result) << result->error;
        // Each attempt began with the array as it was put.
        EXPECT_EQ(result->value->array("a").values<char>()[0], 11);
        EXPECT_EQ(result->value->integer("attempt"), deaths + 1);
    }
    EXPECT_EQ(*runs, 1 + 2 + 3 + 3 + 1);
}

TEST_F(Crash, WithoutRestartTheJobsOfTheWorkerFail) {
    JobExecutor executor(die_as_asked, 1, {.max_queue_size_per_worker = 5, .restart_crashed_worker = false});
    executor.start();
    for (const int n : {0, 3, 0}) ASSERT_TRUE(executor.put(number(n)));
    EXPECT_TRUE(*executor.take(patience));
    EXPECT_THAT(executor.take(patience)->error, HasSubstr("exit code 3"));
    EXPECT_THAT(executor.take(patience)->error, HasSubstr("exit code 3, and is not started again"));
    EXPECT_FALSE(executor.take(patience));
    EXPECT_THAT([&] { executor.put(number(0)); },
                ThrowsMessage<ExecutorClosed>(HasSubstr("no worker is left")));
}

TEST_F(Crash, AWorkerThatDiesBeforeEachJobIsGivenUp) {
    JobExecutor executor([](Batch in) { return in; }, 1);
    executor.start();
    std::ostringstream report;
    while (report.str().find("gone") == std::string::npos) {
        for (const pid_t worker : executor_tests::workers()) kill(worker, SIGKILL);
        report.str("");
        executor.job_report(report);
    }
    EXPECT_THAT(report.str(), HasSubstr("died 5 times"));
    EXPECT_FALSE(executor.take(patience));
    EXPECT_THAT(
        [&] { executor.put(number(0)); },
        ThrowsMessage<ExecutorClosed>(HasSubstr("5 times in a row before a job, and is not started again")));
}

// Whichever process is killed, the jobs that ran fail and the others run. What jobs left elsewhere ends.
TEST_F(Crash, OfTheZygoteFailsTheJobsThatRan) {
    Shared<Gate> began;
    Shared<std::atomic<pid_t>> left;
    JobExecutor executor(
        [began = began.get(), left = left.get()](Batch in) {
            if (in.integer("n") > 1) return in;
            const pid_t child = fork();
            if (child == 0) {
                setsid();
                left->store(getpid());
            }
            if (child != 0) began->open();
            for (;;) pause();
            return in;
        },
        2, {.max_queue_size_per_worker = 10});
    executor.start();
    for (int turn = 0; turn < 3; ++turn) {
        left->store(0);
        for (int n = 0; n < 10; ++n) ASSERT_TRUE(executor.put(number(n)));
        began->pass();
        began->pass();
        while (left->load() == 0) {
        }
        kill(executor_tests::processes_named("wq_job_zygote").front(), SIGKILL);
        int failed = 0;
        for (int n = 0; n < 10; ++n) {
            const auto result = executor.take(patience);
            ASSERT_TRUE(result);
            if (*result) continue;
            EXPECT_THAT(result->error, HasSubstr("was killed with the process that starts workers"));
            ++failed;
        }
        EXPECT_EQ(failed, 2);
        EXPECT_EQ(kill(left->load(), 0), -1) << "what a job has started is still there";
    }
}

TEST_F(Crash, OfTheKeeperChangesNothing) {
    JobExecutor executor(die_as_asked, 1, {.max_queue_size_per_worker = 10});
    executor.start();
    kill(executor_tests::processes_named("wq_job_keeper").front(), SIGKILL);
    for (const int n : {0, 2, 0}) ASSERT_TRUE(executor.put(number(n)));
    for (const int n : {0, 2, 0}) EXPECT_EQ(executor.take(patience)->value.has_value(), n == 0);
}

TEST_F(Crash, OfKeeperAndZygoteFailsAllJobs) {
    JobExecutor executor([](Batch in) { return in; }, 2);
    executor.start();
    const auto zygote = executor_tests::processes_named("wq_job_zygote");
    kill(executor_tests::processes_named("wq_job_keeper").front(), SIGKILL);
    kill(zygote.front(), SIGKILL);
    EXPECT_THROW(for (;;) executor.put(number(0)), ExecutorClosed);
    while (executor.take(patience)) {
    }
}

// Its worker cannot be used any more; the jobs after it find another one.
TEST_F(Crash, OfItsDescriptorsCostsAJobNothingElse) {
    JobExecutor executor(
        [](Batch in) {
            const auto n = in.integer("n");
            for (int file = 3; file < 256; ++file) close(file);
            for (int file = 0; n % 2 == 0 && file < 20; ++file) open("/dev/zero", O_RDWR);
            if (n % 3 == 0) in.set("a", Array::of<char>({100000}));
            return in;
        },
        1, {.max_queue_size_per_worker = 30});
    executor.start();
    for (int n = 0; n < 30; ++n) ASSERT_TRUE(executor.put(number(n)));
    for (int n = 0; n < 30; ++n) {
        const auto result = executor.take(patience);
        ASSERT_TRUE(result);
        EXPECT_EQ(result->metadata.job, static_cast<std::uint64_t>(n));
        if (n % 3 == 0)
            EXPECT_THAT(result->error, HasSubstr("closed its worker's descriptors"));
        else
            EXPECT_EQ(result->value->integer("n"), n);
    }
}

// The memory of arrays that dead workers had is given back.
TEST_F(Crash, KeepsNoArrays) {
    JobExecutor executor(die_as_asked, 1);
    executor.start();
    const std::size_t before = executor_tests::open_descriptors();
    for (int n = 0; n < 10; ++n) {
        Batch batch = number(2);
        batch.set("a", Array::of<char>({1 << 20}));
        ASSERT_TRUE(executor.put(std::move(batch)));
        EXPECT_FALSE(executor.take(patience)->value);
    }
    EXPECT_EQ(executor_tests::open_descriptors(), before);
}

// What workers write anywhere in their rings, the program survives.
TEST_F(Crash, AWorkerThatSpoilsItsMemoryIsKilled) {
    JobExecutor executor(
        [](Batch in) {
            std::FILE* const maps = std::fopen("/proc/self/maps", "r");
            char line[512];
            while (std::fgets(line, sizeof line, maps) != nullptr) {
                unsigned long first = 0;
                unsigned long last = 0;
                if (std::strstr(line, "work_queue_worker") != nullptr &&
                    std::sscanf(line, "%lx-%lx", &first, &last) == 2)
                    std::memset(reinterpret_cast<void*>(first), 0xee, last - first);
            }
            die(SIGSEGV);
            return in;
        },
        1);
    executor.start();
    for (int n = 0; n < 3; ++n) {
        ASSERT_TRUE(executor.put(number(n)));
        const auto result = executor.take(patience);
        ASSERT_TRUE(result);
        EXPECT_THAT(result->error, HasSubstr("SIG"));
    }
}

// Functions die in all ways at random, and workers are killed at random moments.
TEST_F(Crash, AtRandomEachJobHasOneResult) {
    constexpr int most = 3000;
    const int jobs = executor_tests::some_of(most);
    struct Runs {
        std::array<std::atomic<int>, most> of{};
    };
    Shared<Runs> runs;
    constexpr int retries = 1;
    JobExecutor executor(
        [runs = runs.get()](Batch in) {
            const std::int64_t n = in.integer("n");
            ++runs->of[static_cast<std::size_t>(n)];
            const std::int64_t way = in.integer("way");
            if (way == 1) throw std::runtime_error("thrown");
            if (way > 1) {
                in.set("n", way - 1);
                die_as_asked(in);
            }
            in.set("a", Array::of<char>({static_cast<std::size_t>(n % 7 * 20000)}));
            return in;
        },
        3, {.max_queue_size_per_worker = 4, .retries = retries});
    executor.start();
    std::mt19937 random(7);
    std::vector<int> seen(static_cast<std::size_t>(jobs));
    std::vector<std::int64_t> ways(seen.size());
    int taken = 0;
    const auto take = [&](std::optional<JobResult<>> result) {
        executor_tests::require(result.has_value());
        const std::size_t job = result->metadata.job;
        ++seen[job];
        ++taken;
        if (*result) {
            EXPECT_EQ(ways[job], 0);
            EXPECT_EQ(result->value->array("a").size(), job % 7 * 20000);
        } else if (ways[job] != 1) {
            EXPECT_THAT(result->error, HasSubstr("worker "));
        }
    };
    // Every third time somebody is killed from outside, and every sixth job dies or throws, mostly twice:
    // about a thousand crashes in 3,000 jobs.
    constexpr std::uint32_t kill_one_in = 3;
    for (int n = 0; n < jobs; ++n) {
        auto& way = ways[static_cast<std::size_t>(n)];
        if (random() % (kill_one_in * 2) == 0) way = 1 + static_cast<std::int64_t>(random() % 7);
        Batch batch = number(n);
        batch.set("way", way);
        batch.set("b", Array::of<char>({static_cast<std::size_t>(n % 5 * 20000)}));
        while (!executor.put(std::move(batch))) take(executor.take(patience));
        if (random() % kill_one_in == 0) {
            // One that dies five times while it starts is given up.
            const auto alive = executor_tests::workers_that_are_up(executor);
            if (!alive.empty()) kill(alive[random() % alive.size()], SIGKILL);
        }
        if (random() % 2 == 0)
            if (auto result = executor.try_take()) take(std::move(result));
    }
    while (taken < jobs) take(executor.take(patience));
    EXPECT_THAT(seen, testing::Each(1));
    EXPECT_TRUE(executor.is_idle());
    EXPECT_FALSE(executor.try_take());
    for (const auto& times : runs->of) EXPECT_LE(times, 1 + retries);
    std::ostringstream report;
    executor.job_report(report);
    std::cout << report.str();
}

}  // namespace
}  // namespace wq

#include "work_queue/job_executor.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <sstream>

#include "base/descriptor.h"
#include "base/time.h"
#include "support.h"

namespace wq {
namespace {

using executor_tests::Gate;
using executor_tests::number;
using executor_tests::patience;
using executor_tests::Shared;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class Executor : public executor_tests::NothingLeft {};

// Waits for room, that is, takes results.
template <class Use>
void put(JobExecutor<>& executor, Batch batch, Use&& use) {
    while (!executor.put(std::move(batch))) {
        auto result = executor.take(patience);
        executor_tests::require(result.has_value());
        use(std::move(*result));
    }
}

TEST_F(Executor, RunsJobsInWorkersEachOnce) {
    JobExecutor executor(
        [](Batch in) {
            Batch out;
            out.set("n", in.integer("n"));
            out.set("square", in.integer("n") * in.integer("n"));
            out.set("pid", getpid());
            return out;
        },
        3);
    executor.start();
    std::vector<int> seen(1000);
    const auto use = [&](JobResult<> result) {
        executor_tests::require(result.value.has_value(), result.error);
        const std::int64_t n = result.value->integer("n");
        EXPECT_EQ(result.value->integer("square"), n * n);
        EXPECT_NE(result.value->integer("pid"), getpid());
        ++seen[static_cast<std::size_t>(n)];
    };
    for (int n = 0; n < 1000; ++n) put(executor, number(n), use);
    while (!executor.is_idle()) {
        if (auto result = executor.take(patience)) use(std::move(*result));
    }
    while (auto result = executor.try_take()) use(std::move(*result));
    EXPECT_THAT(seen, testing::Each(1));
}

TEST_F(Executor, HandsOverLargeArraysWithoutACopy) {
    JobExecutor executor(
        [](Batch in) {
            const std::byte* const before = in.array("a").bytes().data();
            in.array("a").mutable_values<std::int32_t>()[5] += 1;
            in.set("in place", before == in.array("a").bytes().data());
            return in;
        },
        1);
    executor.start();
    for (int round = 0; round < 5; ++round) {
        Batch batch;
        batch.set("a", Array::of<std::int32_t>({1000, 1000}));
        batch.array("a").mutable_values<std::int32_t>()[5] = round;
        ASSERT_TRUE(executor.put(std::move(batch)));
        const auto result = executor.take(patience);
        ASSERT_TRUE(result && *result);
        EXPECT_EQ(result->value->array("a").values<std::int32_t>()[5], round + 1);
        EXPECT_THAT(result->value->array("a").shape(), ElementsAre(1000, 1000));
        EXPECT_EQ(result->value->integer("in place"), 1);
    }
}

TEST_F(Executor, WhatTheProgramKeepsAWorkerDoesNotChange) {
    JobExecutor executor(
        [](Batch in) {
            in.array("a").mutable_values<char>()[0] = 'w';
            return in;
        },
        1);
    executor.start();
    Batch mine;
    mine.set("a", Array::of<char>({100000}));
    mine.array("a").mutable_values<char>()[0] = 'm';
    ASSERT_TRUE(executor.put(mine));
    const auto result = executor.take(patience);
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(mine.array("a").values<char>()[0], 'm');
    EXPECT_EQ(result->value->array("a").values<char>()[0], 'w');
}

TEST_F(Executor, ResultsStayAfterTheExecutor) {
    std::optional<JobResult<>> result;
    {
        JobExecutor executor([](Batch in) { return in; }, 1);
        executor.start();
        Batch batch;
        batch.set("a", Array::of<char>({1 << 20}));
        batch.array("a").mutable_values<char>()[1 << 19] = 'x';
        ASSERT_TRUE(executor.put(std::move(batch)));
        result = executor.take(patience);
    }
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(result->value->array("a").values<char>()[1 << 19], 'x');
    result.reset();
}

TEST_F(Executor, LargeMessagesAndManyArraysTravel) {
    JobExecutor executor([](Batch in) { return in; }, 1);
    executor.start();
    Batch batch;
    batch.set("text", std::string(10 << 20, 't'));
    for (int n = 0; n < 200; ++n) batch.set("array " + std::to_string(n), Array::of<char>({40000}));
    ASSERT_TRUE(executor.put(batch));
    const auto result = executor.take(patience);
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(result->value->size(), 201U);
    EXPECT_EQ(result->value->text("text").size(), std::size_t{10} << 20);
    for (int n = 200; n < 300; ++n) batch.set("array " + std::to_string(n), Array::of<char>({40000}));
    EXPECT_THAT([&] { executor.put(batch); }, ThrowsMessage<BatchError>(HasSubstr("300 arrays")));
    EXPECT_TRUE(executor.is_idle());
    EXPECT_EQ(batch.size(), 301U);
}

TEST_F(Executor, AnArrayOfBeforeTheForkIsCopied) {
    Array table = Array::of<char>({50000});
    table.mutable_values<char>()[7] = 'o';
    JobExecutor executor(
        [table](Batch) mutable {
            Batch out;
            out.set("same", table);
            table.mutable_values<char>()[7] = 'w';
            out.set("changed", table);
            return out;
        },
        1);
    executor.start();
    ASSERT_TRUE(executor.put(Batch()));
    const auto result = executor.take(patience);
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(result->value->array("same").values<char>()[7], 'o');
    EXPECT_EQ(result->value->array("changed").values<char>()[7], 'w');
    EXPECT_EQ(table.values<char>()[7], 'o');
}

TEST_F(Executor, AnExceptionIsTheJobsError) {
    JobExecutor executor(
        [](Batch in) -> Batch {
            switch (in.integer("n")) {
                case 0:
                    throw std::runtime_error("no good number");
                case 1:
                    throw 7;
                case 2:
                    in.text("absent");
                    break;
                case 3:
                    throw std::bad_alloc();
                case 4:
                    static_cast<void>(Array::of<double>({std::size_t{1} << 44}));
                    break;
            }
            return in;
        },
        1, {.max_queue_size_per_worker = 10});
    executor.start();
    for (int n = 0; n < 6; ++n) ASSERT_TRUE(executor.put(number(n)));
    for (const char* const error :
         {"no good number", "no std::exception", "no 'absent'; it has n", "bad_alloc", "no memory is left"}) {
        const auto result = executor.take(patience);
        ASSERT_TRUE(result);
        EXPECT_FALSE(*result);
        EXPECT_THAT(result->error, HasSubstr(error));
    }
    const auto result = executor.take(patience);
    EXPECT_TRUE(result && *result);
}

TEST_F(Executor, AFunctionMayReturnNothing) {
    Shared<std::atomic<int>> sum;
    JobExecutor executor([sum = sum.get()](const Batch& in) { *sum += static_cast<int>(in.integer("n")); },
                         2);
    executor.start();
    ASSERT_TRUE(executor.put(number(3)));
    ASSERT_TRUE(executor.put(number(4)));
    for (int n = 0; n < 2; ++n) {
        const auto result = executor.take(patience);
        ASSERT_TRUE(result && *result);
        EXPECT_TRUE(result->value->empty());
    }
    EXPECT_EQ(*sum, 7);
}

struct Point {
    double x = 0;
    double y = 0;
};

}  // namespace

template <>
struct BatchConversion<Point> {
    static Batch to_batch(const Point& point) {
        Batch batch;
        batch.set("x", point.x);
        batch.set("y", point.y);
        return batch;
    }
    static Point from_batch(Batch&& batch) { return {batch.number("x"), batch.number("y")}; }
};

namespace {

TEST_F(Executor, OtherTypesTravelByTheirConversion) {
    JobExecutor<Point, double> points([](Point point) { return point.x + point.y; }, 1);
    JobExecutor<std::string, std::string> texts([](const std::string& text) { return text + text; }, 1);
    JobExecutor<int, Array> arrays([](int n) { return Array::of<float>({static_cast<std::size_t>(n)}); }, 1);
    points.start();
    texts.start();
    arrays.start();
    ASSERT_TRUE(points.put({1, 2.5}));
    ASSERT_TRUE(texts.put("ab"));
    ASSERT_TRUE(arrays.put(30000));
    EXPECT_EQ(points.take(patience)->value, 3.5);
    EXPECT_EQ(texts.take(patience)->value, "abab");
    EXPECT_EQ(arrays.take(patience)->value->size(), 30000U);
}

TEST_F(Executor, EachWorkerHasItsSeedAndContext) {
    Shared<Gate> all_began;
    JobExecutor executor(
        [began = all_began.get()](const Batch&, const JobContext& context) {
            began->open();
            began->pass();
            Batch out;
            out.set("worker", context.worker);
            out.set("seed", context.seed);
            out.set("attempt", context.attempt);
            out.set("stopping", context.stopping());
            return out;
        },
        3, {.seed = 100});
    executor.start();
    std::set<std::int64_t> workers;
    for (int n = 0; n < 3; ++n) ASSERT_TRUE(executor.put(Batch()));
    for (int n = 0; n < 3; ++n) {
        const auto result = executor.take(patience);
        ASSERT_TRUE(result && *result);
        const std::int64_t worker = result->value->integer("worker");
        EXPECT_EQ(worker, result->metadata.worker);
        EXPECT_EQ(result->value->integer("seed"), 100 + worker);
        EXPECT_EQ(result->value->integer("attempt"), 1);
        EXPECT_EQ(result->value->integer("stopping"), 0);
        workers.insert(worker);
    }
    EXPECT_THAT(workers, ElementsAre(0, 1, 2));
}

TEST_F(Executor, LibrariesInWorkersUseOneThread) {
    for (const char* const mine : {"", "3"}) {
        *mine != 0 ? setenv("OMP_NUM_THREADS", mine, 1) : unsetenv("OMP_NUM_THREADS");
        JobExecutor<int, std::string> executor(
            [](int) { return std::string(std::getenv("OMP_NUM_THREADS")); }, 1);
        executor.start();
        ASSERT_TRUE(executor.put(0));
        EXPECT_EQ(executor.take(patience)->value, *mine != 0 ? "3" : "1");
        unsetenv("OMP_NUM_THREADS");
    }
}

TEST_F(Executor, TimesOfAJobAreInOrder) {
    JobExecutor executor([](Batch in) { return in; }, 2);
    const auto before = std::chrono::steady_clock::now();
    executor.start();
    for (std::uint64_t n = 0; n < 20; ++n) {
        ASSERT_TRUE(executor.put(number(0)));
        const auto result = executor.take(patience);
        ASSERT_TRUE(result && *result);
        const JobMetadata& job = result->metadata;
        EXPECT_LE(before, job.created);
        EXPECT_LE(job.created, job.begun);
        EXPECT_LE(job.begun, job.processed);
        EXPECT_LE(job.processed, job.queued);
        EXPECT_LE(job.queued, job.collected);
        EXPECT_LE(job.collected, std::chrono::steady_clock::now());
        EXPECT_EQ(job.job, n);
        EXPECT_EQ(job.session, 0U);
    }
}

TEST_F(Executor, NothingOfBeforeAResetAppears) {
    const int resets = executor_tests::some_of(30000);  // 10,000 in CI
    JobExecutor executor([](Batch in) { return in; }, 2, {.max_queue_size_per_worker = 4});
    executor.start();
    for (int session = 0; session < resets; ++session) {
        for (int n = 0; n < 3; ++n) executor.put(number(session));
        if (session % 3 == 0)
            if (const auto result = executor.try_take()) {
                ASSERT_TRUE(*result);
                ASSERT_EQ(result->value->integer("n"), session);
                ASSERT_EQ(result->metadata.session, static_cast<std::uint64_t>(session));
            }
        executor.reset();
    }
    while (!executor.put(number(-1))) {
    }
    const auto last = executor.take(patience);
    ASSERT_TRUE(last && *last);
    EXPECT_EQ(last->value->integer("n"), -1);
    EXPECT_FALSE(executor.take());
    EXPECT_TRUE(executor.is_idle());
}

TEST_F(Executor, AResetSparesJobsThatWaitTheirRun) {
    Shared<Gate> began;
    Shared<Gate> goes_on;
    Shared<std::atomic<int>> runs;
    JobExecutor executor(
        [began = began.get(), goes_on = goes_on.get(), runs = runs.get()](Batch in,
                                                                          const JobContext& context) {
            ++*runs;
            began->open();
            goes_on->pass();
            in.set("stopping", context.stopping());
            return in;
        },
        1);
    executor.start();
    ASSERT_TRUE(executor.put(number(0)));
    began->pass();
    ASSERT_TRUE(executor.put(number(1)));
    ASSERT_TRUE(executor.put(number(2)));
    executor.reset();
    goes_on->open(2);
    while (!executor.put(number(3))) {
    }
    const auto result = executor.take(patience);
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(result->value->integer("n"), 3);
    EXPECT_EQ(result->metadata.session, 1U);
    EXPECT_EQ(*runs, 2);
}

TEST_F(Executor, PutSaysWhenNobodyTakesJobs) {
    JobExecutor executor([](Batch in) { return in; }, 1);
    EXPECT_THAT([&] { executor.put(Batch()); }, ThrowsMessage<ExecutorClosed>(HasSubstr("before start()")));
    EXPECT_FALSE(executor.take());
    executor.start();
    executor.start();
    ASSERT_TRUE(executor.put(number(1)));
    while (!executor.is_idle()) {
    }
    executor.close();
    EXPECT_THAT([&] { executor.put(Batch()); }, ThrowsMessage<ExecutorClosed>(HasSubstr("after close()")));
    EXPECT_TRUE(executor.take());
    EXPECT_FALSE(executor.take());
    EXPECT_THAT([&] { executor.start(); }, ThrowsMessage<SetupError>(HasSubstr("closed")));
    EXPECT_THAT(executor_tests::processes(), IsEmpty());
}

TEST_F(Executor, WithoutDescriptorsStartSaysSo) {
    JobExecutor executor([](Batch in) { return in; }, 20);
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const Descriptor highest(open("/dev/null", O_RDONLY));
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(highest.get()) + 10;
    setrlimit(RLIMIT_NOFILE, &few);
    EXPECT_THAT([&] { executor.start(patience); }, ThrowsMessage<SetupError>(HasSubstr("raise `ulimit -n`")));
    setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(Executor, RefusesSizesThatMakeNoSense) {
    const auto make = [](int workers, JobExecutorOptions options) {
        return [=] { JobExecutor executor([](Batch in) { return in; }, workers, options); };
    };
    EXPECT_THAT(make(-1, {}), ThrowsMessage<SetupError>(HasSubstr("nb_workers is -1")));
    EXPECT_THAT(make(1, {.max_queue_size_per_worker = 0}),
                ThrowsMessage<SetupError>(HasSubstr("max_queue_size_per_worker is 0")));
    EXPECT_THAT(make(1, {.max_queue_size_pin_thread_per_worker = 0}),
                ThrowsMessage<SetupError>(HasSubstr("is 0")));
    EXPECT_THAT(make(1, {.max_queue_size_pin = 1000000}),
                ThrowsMessage<SetupError>(HasSubstr("max_queue_size_pin is 1000000")));
}

TEST_F(Executor, RefusesToForkWithThreads) {
    Gate gate;
    std::thread other([&] { gate.pass(); });
    EXPECT_THAT([] { JobExecutor executor([](Batch in) { return in; }, 1); },
                ThrowsMessage<SetupError>(HasSubstr("from an MpiSession")));
    gate.open();
    other.join();
}

TEST_F(Executor, NeedNotWaitForItsWorkers) {
    JobExecutor executor([](Batch in) { return in; }, 2, {.wait_until_processes_start = false});
    executor.start();
    ASSERT_TRUE(executor.put(number(3)));
    EXPECT_EQ(executor.take(patience)->value->integer("n"), 3);
}

TEST_F(Executor, WithoutDescriptorsJobsFailAndLaterOnesDoNot) {
    JobExecutor executor(
        [](const Batch& in) {
            Batch out;
            for (std::int64_t n = 0; n < in.integer("n"); ++n)
                out.set(std::to_string(n), Array::of<char>({40000}));
            return out;
        },
        1);
    executor.start();
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const Descriptor highest(open("/dev/null", O_RDONLY));
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(highest.get()) + 10;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int turn = 0; turn < 3; ++turn) {
        ASSERT_TRUE(executor.put(number(50)));
        const auto result = executor.take(patience);
        ASSERT_TRUE(result);
        EXPECT_THAT(result->error, HasSubstr("raise `ulimit -n`"));
        ASSERT_TRUE(executor.put(number(3)));
        const auto small = executor.take(patience);
        EXPECT_EQ(small->error, "");
    }
    EXPECT_THAT(
        [] {
            Batch batch;
            for (int n = 0; n < 50; ++n) batch.set(std::to_string(n), Array::of<char>({40000}));
        },
        ThrowsMessage<BatchError>(HasSubstr("raise `ulimit -n`")));
    setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_TRUE(executor.put(number(50)));
    EXPECT_EQ(executor.take(patience)->value->size(), 50U);
}

TEST_F(Executor, ReportsItsState) {
    JobExecutor executor([](Batch in) { return in; }, 2);
    std::ostringstream text;
    executor.job_report(text);
    EXPECT_THAT(text.str(), HasSubstr("not started"));
    executor.start();
    ASSERT_TRUE(executor.put(number(1)));
    while (!executor.is_idle()) {
    }
    // A worker is up before the process that started it has told its number.
    const Instant until = instant_now() + patience;
    do {
        text.str("");
        executor.job_report(text);
    } while (text.str().find("worker 1: up, pid ") == std::string::npos && instant_now() < until);
    EXPECT_THAT(text.str(), HasSubstr("running, session 0, 0 jobs unfinished, 1 of 6 results here"));
    EXPECT_THAT(text.str(), HasSubstr("worker 1: up, pid "));
}

}  // namespace
}  // namespace wq

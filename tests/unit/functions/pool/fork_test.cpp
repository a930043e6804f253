// What workers have of the program that they were forked from, and what a child of the program's own has of
// its executors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/descriptor.h"
#include "unit/functions/pool/support.h"

namespace wq::executor_tests {
namespace {

class Forked : public NothingLeft {};

Array array_of(char value) {
    Array array = Array::of<char>({50'000});
    const auto values = array.mutable_values<char>();
    std::fill(values.begin(), values.end(), value);
    return array;
}

char value_of(const JobResult<>& result) {
    const auto values = result.value->array("a").values<char>();
    EXPECT_EQ(std::count(values.begin(), values.end(), values[0]), 50'000);
    return values[0];
}

char ask(JobExecutor<>& executor) {
    EXPECT_TRUE(executor.put(Batch()));
    const auto result = executor.take(patience);
    EXPECT_TRUE(result && *result) << result->error;
    return value_of(*result);
}

// The worker has the array as it was, although it lies in memory that both have.
TEST_F(Forked, ArraysStayAsTheyWereWhateverTheProgramDoes) {
    auto table = std::make_unique<Array>(array_of('o'));
    JobExecutor executor(
        [at = table.get()](Batch) {
            Batch out;
            out.set("a", *at);
            return out;
        },
        1);
    executor.start();
    EXPECT_EQ(ask(executor), 'o');
    table->mutable_values<char>()[0] = 'p';
    EXPECT_EQ(table->values<char>()[0], 'p');
    EXPECT_EQ(ask(executor), 'o');
    *table = Array();
    const Array others[] = {array_of('q'), array_of('q'), array_of('q')};  // which may not take its memory
    EXPECT_EQ(ask(executor), 'o');
}

// An object of the program's, such as a stream, still has the number of its descriptor in the worker.
TEST_F(Forked, WhatIsWrittenToTheProgramsDescriptorsGoesNowhere) {
    std::vector<Descriptor> files;
    for (int n = 0; n < 20; ++n) files.emplace_back(open("/dev/null", O_RDWR | O_CLOEXEC));
    const int first = files.front().get();
    const int last = files.back().get();
    JobExecutor executor(
        [=](const Batch& in) {
            const std::string text(10'000, 'x');
            Batch out;
            out.set("a", array_of('a'));
            const Array mine = array_of('b');
            for (int file = first; file <= last; ++file)
                if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
                    throw std::runtime_error("there is none");
            const auto got = in.array("a").values<char>();
            if (std::count(got.begin(), got.end(), 'i') != 50'000)
                throw std::runtime_error("its input has changed");
            if (mine.values<char>()[9999] != 'b') throw std::runtime_error("its array has changed");
            return out;
        },
        1);
    executor.start();
    for (int job = 0; job < 3; ++job) {
        Batch in;
        in.set("a", array_of('i'));
        ASSERT_TRUE(executor.put(std::move(in)));
        const auto result = executor.take(patience);
        ASSERT_TRUE(result && *result) << result->error;
        EXPECT_EQ(value_of(*result), 'a');
    }
}

TEST_F(Forked, AChildOfTheProgramChangesNothing) {
    JobExecutor executor([](Batch batch) { return batch; }, 1);
    executor.start();
    const pid_t child = fork();
    if (child == 0) {
        executor.reset();
        executor.abort();
        _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_TRUE(executor.put(number(5)));
    const auto result = executor.take(patience);
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(result->value->integer("n"), 5);
}

TEST_F(Forked, OnceItIsClosedItIsIdle) {
    Shared<Gate> gate;
    JobExecutor executor([&gate](const Batch&) { gate->pass(); }, 1);
    executor.start();
    ASSERT_TRUE(executor.put(number(1)));
    EXPECT_FALSE(executor.is_idle());
    executor.close(std::chrono::milliseconds(100));
    EXPECT_TRUE(executor.is_idle());
}

}  // namespace
}  // namespace wq::executor_tests

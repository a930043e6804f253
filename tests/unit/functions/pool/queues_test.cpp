#include <ostream>

#include "support.h"
#include "work_queue/job_executor.h"

namespace wq {
namespace {

using executor_tests::Gate;
using executor_tests::number;
using executor_tests::patience;
using executor_tests::Shared;

struct Sizes {
    int workers;
    std::size_t per_worker;
    std::size_t pin_per_worker;
    std::optional<std::size_t> pin;
    std::size_t pin_in_all;
};

class Queues : public executor_tests::NothingLeft, public testing::WithParamInterface<Sizes> {};

// Nobody takes results: first the program's queue fills, then the workers' queues of results, then each
// worker keeps one that it cannot queue, then their queues of jobs fill, then put() says no.
TEST_P(Queues, HoldAsManyAsTheySay) {
    const Sizes sizes = GetParam();
    Shared<Gate> began;
    JobExecutor executor(
        [began = began.get()](Batch in) {
            began->open();
            return in;
        },
        sizes.workers,
        {.max_queue_size_per_worker = sizes.per_worker,
         .max_queue_size_pin_thread_per_worker = sizes.pin_per_worker,
         .max_queue_size_pin = sizes.pin});
    executor.start();
    const std::size_t workers = static_cast<std::size_t>(sizes.workers);
    const std::size_t begun = sizes.pin_in_all + workers * (sizes.per_worker + 1);
    const std::size_t all = begun + workers * sizes.per_worker;
    std::int64_t put = 0;
    const auto put_one = [&] {
        while (!executor.put(number(put))) {
        }
        ++put;
    };
    while (put < static_cast<std::int64_t>(all)) put_one();
    for (std::size_t n = 0; n < begun; ++n) began->pass();
    EXPECT_TRUE(executor.is_full());
    EXPECT_FALSE(executor.put(number(-1)));

    // One taken: one more fits.
    std::set<std::int64_t> seen;
    const auto take_one = [&] {
        const auto result = executor.take(patience);
        executor_tests::require(result && *result);
        EXPECT_TRUE(seen.insert(result->value->integer("n")).second);
    };
    for (int n = 0; n < 20; ++n) {
        take_one();
        began->pass();
        EXPECT_FALSE(executor.is_full());
        put_one();
        EXPECT_FALSE(executor.put(number(-1)));
    }
    while (seen.size() < static_cast<std::size_t>(put)) take_one();
    EXPECT_TRUE(executor.is_idle());
    EXPECT_FALSE(executor.try_take());
}

void PrintTo(const Sizes& sizes, std::ostream* to) {
    *to << sizes.workers << " workers with " << sizes.per_worker << ", " << sizes.pin_in_all << " in all";
}

INSTANTIATE_TEST_SUITE_P(Sizes, Queues,
                         testing::Values(Sizes{2, 2, 3, std::nullopt, 6}, Sizes{1, 1, 1, std::nullopt, 1},
                                         Sizes{3, 1, 1, 5, 5}, Sizes{1, 40, 7, std::nullopt, 7},
                                         Sizes{2, 3, 9, 1, 1}));

class FullQueues : public executor_tests::NothingLeft {};

// Round about the end of the rings, with messages of all sizes.
TEST_F(FullQueues, LongQueuesHoldLargeMessages) {
    JobExecutor executor([](Batch in) { return in; }, 2,
                         {.max_queue_size_per_worker = 100, .max_queue_size_pin = 1000});
    executor.start();
    std::vector<int> seen(3000);
    std::size_t taken = 0;
    const auto take = [&](std::optional<JobResult<>> result) {
        executor_tests::require(result.has_value());
        executor_tests::require(result->value.has_value(), result->error);
        const std::int64_t n = result->value->integer("n");
        EXPECT_EQ(result->value->text("text").size(), static_cast<std::size_t>(n * 37 % 3001));
        ++seen[static_cast<std::size_t>(n)];
        ++taken;
    };
    for (int n = 0; n < 3000; ++n) {
        Batch batch = number(n);
        batch.set("text", std::string(static_cast<std::size_t>(n * 37 % 3001), 'x'));
        while (!executor.put(std::move(batch))) take(executor.take(patience));
    }
    while (taken < 3000) take(executor.take(patience));
    EXPECT_THAT(seen, testing::Each(1));
}

}  // namespace
}  // namespace wq

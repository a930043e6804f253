// Slices that a producer claims ahead: how many, when they are committed, and what becomes of those that
// nobody consumes.
#include <gmock/gmock.h>

#include <future>
#include <set>
#include <thread>

#include "work_queue/slice_queue.h"

namespace wq {
namespace {

std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> works;
    for (std::size_t n = 0; n < count; ++n) works.push_back("w" + std::to_string(n));
    return works;
}

SliceOptions in_order() {
    SliceOptions options;
    options.shuffle = false;
    return options;
}

// Its thread takes without a word; the caller's time limit ends a test that would wait for ever.
void wait_until_taken(const SliceQueue& slices, std::uint64_t count) {
    while (slices.taken() < count) std::this_thread::yield();
}

TEST(SliceProducer, GivesAllSlicesInOrder) {
    for (const std::size_t capacity : {1u, 3u, 100u}) {
        SliceOptions options = in_order();
        options.num_epochs = 2;
        SliceQueue slices(names(10), options);
        SliceProducer producer = slices.input_producer(capacity);
        for (std::uint64_t n = 0; n < 20; ++n) {
            const auto slice = producer.next();
            ASSERT_TRUE(slice);
            EXPECT_EQ(slice->position, n);
        }
        EXPECT_EQ(producer.next(), std::nullopt);
        EXPECT_EQ(producer.next(), std::nullopt) << "the end stays";
        EXPECT_EQ(slices.take(), std::nullopt) << "all are committed";
    }
}

TEST(SliceProducer, ClaimsAsManyAsItsCapacityAndNoMore) {
    for (const std::size_t capacity : {1u, 4u}) {
        SliceQueue slices(names(100), in_order());
        SliceProducer producer = slices.input_producer(capacity);
        EXPECT_EQ(slices.taken(), 0u) << "the first next() begins";
        for (std::size_t consumed = 1; consumed <= 50; ++consumed) {
            ASSERT_TRUE(producer.next());
            wait_until_taken(slices, consumed + capacity);
            ASSERT_EQ(slices.taken(), consumed + capacity);
        }
    }
    SliceQueue slices(names(1));
    EXPECT_THROW(slices.input_producer(0), std::invalid_argument);
}

TEST(SliceProducer, CommitsWhatWasConsumedWhenTheNextIsAskedFor) {
    SliceQueue slices(names(5), in_order());
    SliceProducer producer = slices.input_producer(2);
    const auto first = producer.next();
    wait_until_taken(slices, 3);
    const auto second = producer.next();
    wait_until_taken(slices, 4);
    EXPECT_FALSE(slices.commit(*first)) << "it is committed";
    EXPECT_TRUE(slices.commit(*second)) << "it was not";
    Slice claimed = *second;
    claimed.position = 3;
    EXPECT_TRUE(slices.commit(claimed)) << "it is only claimed";
}

TEST(SliceProducer, ByHandItCommitsNothing) {
    SliceOptions options = in_order();
    options.commit_by_hand = true;
    SliceQueue slices(names(3), options);
    SliceProducer producer = slices.input_producer();
    std::vector<Slice> all;
    for (int n = 0; n < 3; ++n) all.push_back(*producer.next());
    for (const Slice& slice : all) EXPECT_TRUE(slices.commit(slice));
    EXPECT_EQ(producer.next(), std::nullopt);
}

// Beside a producer, take() commits what take() gave.
TEST(SliceProducer, SharesTheQueueWithTake) {
    SliceQueue slices(names(30));
    SliceProducer producer = slices.input_producer(3);
    std::set<std::uint64_t> all;
    for (int n = 0; n < 10; ++n) {
        all.insert(producer.next()->position);
        all.insert(slices.take()->position);
    }
    // Each waits for what the other has, and so for it to go on.
    auto rest = std::async(std::launch::async, [&] {
        std::set<std::uint64_t> some;
        while (const auto slice = producer.next()) some.insert(slice->position);
        return some;
    });
    while (const auto slice = slices.take()) all.insert(slice->position);
    for (const std::uint64_t position : rest.get()) all.insert(position);
    EXPECT_EQ(all.size(), 30u);
    EXPECT_EQ(slices.taken(), 30u);
}

TEST(SliceProducer, GivesBackWhatNobodyConsumed) {
    for (const Delivery delivery :
         {Delivery::exactly_once, Delivery::at_most_once, Delivery::at_least_once}) {
        SliceOptions options = in_order();
        options.delivery = delivery;
        SliceQueue slices(names(10), options);
        {
            SliceProducer producer = slices.input_producer(4);
            ASSERT_EQ(producer.next()->position, 0u);
            ASSERT_EQ(producer.next()->position, 1u);
            wait_until_taken(slices, 6);
        }
        // The second was consumed, but not committed.
        const std::uint64_t kept = delivery == Delivery::at_most_once ? 2 : 1;
        EXPECT_EQ(slices.taken(), kept);
        for (std::uint64_t n = kept; n < 10; ++n) {
            const auto slice = slices.take();
            ASSERT_TRUE(slice);
            EXPECT_EQ(slice->position, n);
        }
        EXPECT_EQ(slices.take(), std::nullopt);
    }
}

TEST(SliceProducer, ByHandItKeepsWhatItsConsumerHas) {
    SliceOptions options = in_order();
    options.commit_by_hand = true;
    SliceQueue slices(names(4), options);
    std::optional<Slice> first;
    {
        SliceProducer producer = slices.input_producer(2);
        first = producer.next();
        wait_until_taken(slices, 3);
    }
    for (std::uint64_t n = 1; n < 4; ++n) {
        const auto slice = slices.take();
        ASSERT_EQ(slice->position, n);
        EXPECT_TRUE(slices.commit(*slice));
    }
    EXPECT_TRUE(slices.commit(*first));
    EXPECT_EQ(slices.take(), std::nullopt);
}

TEST(SliceProducer, MayBeDestroyedAtAnyMoment) {
    SliceQueue slices(names(1), {.num_epochs = 1000});
    std::uint64_t consumed = 0;
    for (std::size_t round = 0; consumed < 900; ++round) {
        SliceProducer producer = slices.input_producer(1 + round % 3);
        for (std::size_t n = 0; n < round % 20; ++n, ++consumed) ASSERT_TRUE(producer.next());
    }
    std::uint64_t rest = 0;
    for (; slices.take(); ++rest) continue;
    // The last slice of each producer comes again.
    EXPECT_GE(consumed + rest, 1000u);
}

TEST(SliceProducer, WaitsForALimitedTime) {
    using namespace std::chrono_literals;
    SliceOptions options = in_order();
    options.commit_by_hand = true;
    SliceQueue slices(names(1), options);
    SliceProducer producer = slices.input_producer();
    const auto only = producer.next_at_most(10s);
    ASSERT_TRUE(only);
    EXPECT_EQ(producer.next_at_most(20ms), std::nullopt) << "it may be lost";
    slices.commit(*only);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(producer.next_at_most(10s), std::nullopt) << "the end";
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

TEST(SliceProducer, EndsWhileItWaitsForASliceOfAnother) {
    SliceQueue slices(names(2), in_order());
    const auto taken = slices.take();
    {
        SliceProducer producer = slices.input_producer(5);
        ASSERT_TRUE(producer.next());
        // Its thread waits now, or soon will, for the slice that take() gave.
    }
    SliceProducer producer = slices.input_producer(5);
    ASSERT_EQ(producer.next()->position, 1u);
    auto waits = std::async(std::launch::async, [&] { return producer.next(); });
    producer.stop();
    EXPECT_EQ(waits.get(), std::nullopt);
    EXPECT_EQ(producer.next(), std::nullopt);
    EXPECT_EQ(slices.take(), std::nullopt);
}

}  // namespace
}  // namespace wq

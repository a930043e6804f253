#include "work_queue/slice_pipeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ranges>

#include "support/folder.h"

namespace wq {
namespace {

using test::Folder;
using test::write_file;
using ::testing::ElementsAre;
using Texts = std::vector<std::string>;

static_assert(std::ranges::input_range<Pipeline<std::string>>);
static_assert(std::ranges::input_range<Pipeline<Texts>>);

// Two files of some lines, "0" to "N-1".
class SlicePipeline : public ::testing::Test {
  protected:
    SliceQueue& queue_of(int lines, int epochs = 1) {
        std::string first;
        std::string second;
        for (int n = 0; n < lines; ++n) (n < lines / 2 ? first : second) += std::to_string(n) + "\n";
        write_file(folder / "first", first);
        write_file(folder / "second", second);
        SliceOptions options;
        options.shuffle = false;
        options.num_epochs = epochs;
        options.num_slices = std::min(lines, 5);
        options.lines = true;
        queue_ = std::make_unique<SliceQueue>(Texts{folder / "first", folder / "second"}, options);
        return *queue_;
    }
    static Texts numbers(int lines) {
        Texts all;
        for (int n = 0; n < lines; ++n) all.push_back(std::to_string(n));
        return all;
    }

    const Folder folder;
    std::unique_ptr<SliceQueue> queue_;
};

template <class T>
std::vector<T> all_of(Pipeline<T> pipeline) {
    std::vector<T> all;
    for (T& element : pipeline) all.push_back(std::move(element));
    EXPECT_EQ(pipeline.next(), std::nullopt) << "the end stays";
    return all;
}

Texts sorted(Texts texts) {
    std::sort(texts.begin(), texts.end());
    return texts;
}

TEST_F(SlicePipeline, GivesTheLinesOfAllSlices) {
    EXPECT_EQ(all_of(lines(queue_of(100).input_dataset())), numbers(100));
    EXPECT_EQ(all_of(lines(queue_of(100).input_producer(4))), numbers(100));
    EXPECT_EQ(queue_->take(), std::nullopt) << "all are committed";
    EXPECT_EQ(all_of(lines(queue_of(10, 3).input_dataset())).size(), 30u);
}

TEST_F(SlicePipeline, ShufflesByItsSeed) {
    const auto order = [&](std::size_t buffer, std::optional<std::uint64_t> seed) {
        return all_of(lines(queue_of(200).input_dataset()).shuffle(buffer, seed));
    };
    EXPECT_EQ(order(50, 7), order(50, 7));
    EXPECT_NE(order(50, 7), order(50, 8));
    EXPECT_NE(order(50, {}), order(50, {}));
    EXPECT_EQ(order(1, 7), numbers(200));
    EXPECT_EQ(sorted(order(1000, 7)), sorted(numbers(200)));
    const Texts near = order(10, 7);
    EXPECT_EQ(sorted(near), sorted(numbers(200)));
    for (std::size_t n = 0; n < near.size(); ++n)
        EXPECT_LT(std::stoul(near[n]), n + 10) << "an element waits in the buffer, and comes no earlier";
}

// Each of the 24 orders of 4 lines about 1,000 times; their spread is 31.
TEST_F(SlicePipeline, ShufflesEvenly) {
    std::map<Texts, int> times;
    auto orders = lines(queue_of(4).input_dataset()).shuffle(4, 1).repeat(24'000).batch(4);
    for (const Texts& order : orders) ++times[order];
    EXPECT_EQ(times.size(), 24u);
    for (const auto& [order, count] : times) EXPECT_NEAR(count, 1000, 160);
}

TEST_F(SlicePipeline, RepeatsWhatItHasRead) {
    Texts thrice;
    for (int n = 0; n < 3; ++n) std::ranges::copy(numbers(20), std::back_inserter(thrice));
    EXPECT_EQ(all_of(lines(queue_of(20).input_dataset()).repeat(3)), thrice);
    EXPECT_EQ(all_of(lines(queue_of(20).input_dataset()).prefetch(2).repeat(3).prefetch(5)), thrice);
    for (int n = 0; n < 3; ++n) std::ranges::copy(numbers(20), std::back_inserter(thrice));
    EXPECT_EQ(all_of(lines(queue_of(20).input_dataset()).repeat(3).repeat(2)), thrice);
    const Texts again = all_of(lines(queue_of(20).input_dataset()).shuffle(9, 1).repeat(2));
    const auto half = again.begin() + 20;
    EXPECT_EQ(sorted({again.begin(), half}), sorted(numbers(20)));
    EXPECT_EQ(sorted({half, again.end()}), sorted(numbers(20)));
    EXPECT_FALSE(std::equal(again.begin(), half, half)) << "another order";
}

TEST_F(SlicePipeline, MakesBatches) {
    EXPECT_THAT(all_of(lines(queue_of(7).input_dataset()).batch(3)),
                ElementsAre(Texts{"0", "1", "2"}, Texts{"3", "4", "5"}, Texts{"6"}));
    EXPECT_THAT(all_of(lines(queue_of(5).input_dataset()).batch(2).batch(2)),
                ElementsAre(ElementsAre(Texts{"0", "1"}, Texts{"2", "3"}), ElementsAre(Texts{"4"})));
}

// The document's first example.
TEST_F(SlicePipeline, ChainsItsSteps) {
    Texts all;
    for (const Texts& batch : lines(queue_of(1000).input_dataset())
                                  .shuffle(200, 2021)
                                  .repeat(2)
                                  .prefetch(32)
                                  .batch(32)
                                  .prefetch(1))
        all.insert(all.end(), batch.begin(), batch.end());
    Texts twice = numbers(1000);
    std::ranges::copy(numbers(1000), std::back_inserter(twice));
    EXPECT_EQ(sorted(all), sorted(twice));
}

TEST_F(SlicePipeline, RefusesNothing) {
    EXPECT_THROW(lines(queue_of(5).input_dataset()).shuffle(0), std::invalid_argument);
    EXPECT_THROW(lines(queue_of(5).input_dataset()).repeat(0), std::invalid_argument);
    EXPECT_THROW(lines(queue_of(5).input_dataset()).batch(0), std::invalid_argument);
    EXPECT_THROW(lines(queue_of(5).input_dataset()).prefetch(0), std::invalid_argument);
}

// Elements that were read before an error come before it, through all steps.
TEST_F(SlicePipeline, HandsOnErrorsInOrder) {
    for (const bool ahead : {false, true}) {
        SliceQueue& queue = queue_of(10);
        std::filesystem::remove(folder / "second");
        auto all = lines(queue.input_dataset());
        if (ahead) all = std::move(all).prefetch(3);
        auto batches = std::move(all).batch(3);
        if (ahead) batches = std::move(batches).prefetch(2);
        EXPECT_EQ(batches.next(), (Texts{"0", "1", "2"}));
        EXPECT_EQ(batches.next(), (Texts{"3", "4"}));
        EXPECT_THROW(batches.next(), std::runtime_error);
    }
}

TEST_F(SlicePipeline, MayBeDestroyedAtAnyMoment) {
    for (std::size_t taken = 0; taken < 60; ++taken) {
        SliceQueue& queue = queue_of(50, 100);
        auto pipeline =
            lines(queue.input_producer(1 + taken % 3)).prefetch(1 + taken % 7).batch(3).prefetch(2);
        for (std::size_t n = 0; n < taken; ++n) ASSERT_TRUE(pipeline.next());
    }
    // Now its threads wait for a slice that another has and never commits, or soon will.
    SliceQueue& queue = queue_of(50);
    const auto first = queue.take();
    auto pipeline = lines(queue.input_dataset()).prefetch(1).batch(3).prefetch(2);
    for (int n = 0; n < 13; ++n) ASSERT_TRUE(pipeline.next());  // of 40 lines
}

TEST_F(SlicePipeline, IsLazy) {
    SliceQueue& queue = queue_of(50);
    auto pipeline = lines(queue.input_producer(1)).batch(3).prefetch(2).repeat(2);
    EXPECT_EQ(queue.taken(), 0u);
}

}  // namespace
}  // namespace wq

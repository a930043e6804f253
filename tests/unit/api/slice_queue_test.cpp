#include "work_queue/slice_queue.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ranges>

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

static_assert(std::ranges::input_range<SliceQueue::Dataset>);

std::vector<std::string> taken(SliceQueue& slices) {
    std::vector<std::string> all;
    while (const auto slice = slices.take())
        all.push_back(std::to_string(slice->epoch) + " " + slice->text());
    return all;
}

TEST(SliceQueue, GivesEachWorkOnceAnEpoch) {
    SliceQueue slices({"a", " b\n", "c"}, {.num_epochs = 2, .shuffle = false, .prefix = "odps://data/"});
    EXPECT_EQ(slices.size(), 3U);
    EXPECT_THAT(taken(slices), ElementsAre("0 odps://data/a", "0 odps://data/b", "0 odps://data/c",
                                           "1 odps://data/a", "1 odps://data/b", "1 odps://data/c"));
    EXPECT_EQ(slices.take(), std::nullopt) << "the end stays";
    EXPECT_EQ(slices.taken(), 6U);
}

TEST(SliceQueue, EqualSeedsGiveEqualOrders) {
    const auto order = [](std::optional<std::uint64_t> seed) {
        std::vector<std::string> works;
        for (int n = 0; n < 30; ++n) works.push_back("w" + std::to_string(n));
        SliceQueue slices(works, {.num_epochs = 2, .seed = seed});
        EXPECT_TRUE(!seed || slices.seed() == *seed);
        return taken(slices);
    };
    EXPECT_EQ(order(7), order(7));
    EXPECT_NE(order(7), order(8));
    EXPECT_NE(order({}), order({}));
}

TEST(SliceQueue, CutsWhatHasRecords) {
    SliceOptions options;
    options.num_slices = 4;
    options.shuffle = false;
    options.records = [](const std::string& work) {
        return work == "text" ? std::nullopt : std::optional<std::uint64_t>(10);
    };
    SliceQueue slices({"table", "text"}, options);
    EXPECT_THAT(taken(slices), ElementsAre("0 table?start=0&end=3", "0 table?start=3&end=6",
                                           "0 table?start=6&end=8", "0 table?start=8&end=10", "0 text"));
}

TEST(SliceQueue, IsARange) {
    SliceQueue slices({"a", "b"});
    std::vector<std::string> works;
    for (const Slice& slice : slices.input_dataset()) works.push_back(slice.work);
    EXPECT_THAT(works, UnorderedElementsAre("a", "b"));
}

TEST(SliceQueue, ByHandASliceIsCommittedOnce) {
    SliceOptions options;
    options.commit_by_hand = true;
    SliceQueue slices({"a", "b"}, options);
    const auto first = slices.take();
    const auto second = slices.take();
    EXPECT_TRUE(slices.commit(*second));
    EXPECT_FALSE(slices.commit(*second));
    EXPECT_TRUE(slices.commit(*first));
    EXPECT_EQ(slices.take(), std::nullopt);
}

TEST(SliceQueue, AtMostOnceNothingIsCommitted) {
    SliceOptions options;
    options.delivery = Delivery::at_most_once;
    SliceQueue slices({"a", "b"}, options);
    const auto first = slices.take();
    EXPECT_FALSE(slices.commit(*first));
    EXPECT_TRUE(slices.take());
    EXPECT_EQ(slices.take(), std::nullopt);
}

TEST(SliceQueue, SaysWhatIsWrong) {
    const auto why = [](std::vector<std::string> works, SliceOptions options) -> std::string {
        try {
            const SliceQueue slices(std::move(works), std::move(options));
        } catch (const SetupError& error) {
            return std::to_string(error.exit_code()) + " " + error.what();
        }
        return "nothing";
    };
    EXPECT_EQ(why({}, {}), "64 the list of works is empty");
    EXPECT_EQ(why({"a", " \n"}, {}), "64 work 2 has no name");
    EXPECT_EQ(why({"a"}, {.num_epochs = 0}), "64 num_epochs is 0; it is at least 1");
    EXPECT_THAT(why({"a"}, {.num_slices = -1}), HasSubstr("64 num_slices is -1"));
    const std::string missing = why({"gone.h5:/x", "also.h5:/y"}, {.num_slices = 2});
    EXPECT_THAT(missing, ::testing::StartsWith("65 "));
    EXPECT_THAT(missing, HasSubstr("gone.h5"));
    EXPECT_THAT(missing, HasSubstr("also.h5"));
}

}  // namespace
}  // namespace wq

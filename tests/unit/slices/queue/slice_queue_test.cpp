#include "work_queue/slice_queue.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "records/hdf5/h5_reader.h"
#include "unit/records/journal/records_testing.h"

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

TEST(SliceQueue, WaitsForALimitedTime) {
    using namespace std::chrono_literals;
    SliceOptions options;
    options.commit_by_hand = true;
    SliceQueue slices({"a"}, options);
    const auto only = slices.take_at_most(10s);
    ASSERT_TRUE(only);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(slices.take_at_most(20ms), std::nullopt) << "it may be lost";
    EXPECT_FALSE(slices.wait_at_most(20ms));
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 40ms);
    slices.commit(*only);
    EXPECT_EQ(slices.take_at_most(10s), std::nullopt);
    EXPECT_TRUE(slices.wait_at_most(10s));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s) << "the end comes before";
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

class SavedSlices : public ::testing::Test {
  protected:
    const records::journal::testing::TempDir dir_;
    const std::string path_ = dir_.file("slices.h5");
    const std::vector<std::string> works_{"a", "b", "c", "d"};
    SliceOptions from(const std::string& checkpoint) const {
        SliceOptions options{.num_epochs = 3, .restore = checkpoint};
        return options;
    }
    std::string why_not(std::vector<std::string> works, SliceOptions options) const {
        try {
            SliceQueue(std::move(works), std::move(options));
        } catch (const SetupError& error) {
            EXPECT_EQ(error.exit_code(), 65);
            return error.what();
        }
        return "";
    }
};

TEST_F(SavedSlices, GoOnWithWhatWasNotCommitted) {
    std::vector<std::string> all = [&] {
        SliceQueue slices(works_, {.num_epochs = 3, .seed = 5});
        return taken(slices);
    }();
    SliceOptions options = from("");
    options.seed = 5;
    for (std::size_t committed = 0; committed < all.size(); ++committed) {
        {
            SliceQueue slices(works_, options);
            for (std::size_t n = 0; n <= committed; ++n) slices.take();
            slices.save(path_);
        }
        SliceQueue rest(works_, from(path_));
        EXPECT_EQ(rest.seed(), 5U);
        EXPECT_EQ(taken(rest), std::vector(all.begin() + static_cast<std::ptrdiff_t>(committed), all.end()));
        rest.save(path_);
        SliceQueue none(works_, from(path_));
        EXPECT_EQ(none.take(), std::nullopt);
    }
    SliceOptions more = from(path_);
    more.num_epochs = 4;
    SliceQueue another_epoch(works_, more);
    EXPECT_THAT(taken(another_epoch), UnorderedElementsAre("3 a", "3 b", "3 c", "3 d"));
}

TEST_F(SavedSlices, OfOtherWorksAreRefused) {
    SliceQueue slices(works_, from(""));
    slices.save(path_);
    EXPECT_EQ(why_not(works_, from(path_)), "");
    EXPECT_THAT(why_not({"a", "b", "c"}, from(path_)), HasSubstr("4 slices there, 3 here"));
    EXPECT_THAT(why_not({"a", "b", "c", "x"}, from(path_)), HasSubstr("is of other works"));
    SliceOptions in_order = from(path_);
    in_order.shuffle = false;
    EXPECT_THAT(why_not(works_, in_order), HasSubstr("its slices are shuffled"));
    EXPECT_THAT(why_not(works_, from(dir_.file("none"))), HasSubstr("none"));
    EXPECT_THROW(slices.save(dir_.file("no/folder.h5")), std::runtime_error);
}

// A sample at its start and one at its end, and each slice once.
TEST(SliceSummary, HasTheEndAndEachSlice) {
    const records::journal::testing::TempDir dir;
    const std::string path = dir.file("slices.h5");
    {
        SliceOptions options{.num_epochs = 2, .prefix = "/data/"};
        options.num_slices = 5;
        options.records = [](const std::string&) { return 7; };
        options.record_each = true;
        SliceQueue slices({"a", "b"}, options);
        slices.add_summary({.hdf5 = path, .tensorboard = dir.file("events"), .interval = 1000});
        EXPECT_THROW(slices.add_summary({.hdf5 = path}), SetupError) << "twice";
        EXPECT_EQ(taken(slices).size(), 10U);
    }
    const auto file = records::hdf5::StatsReader::open(path).or_throw();
    const auto samples = file.slice_queue().or_throw();
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_EQ(samples[0].positions, 10U);
    EXPECT_EQ(samples[0].slices, 5U);
    EXPECT_EQ(samples[1].committed, 10U);
    EXPECT_EQ(samples[1].left, 0U);
    EXPECT_EQ(samples[1].epoch, 2U);
    EXPECT_EQ(file.slice_ranks().or_throw().back().taken, 10U);
    std::set<std::pair<std::uint64_t, std::uint64_t>> each;
    for (const records::hdf5::SliceRow& row : file.slices().or_throw()) {
        each.insert({row.epoch, row.slice});
        EXPECT_LE(row.taken, row.committed);
        EXPECT_TRUE(row.first < row.end && row.end <= 7);
        EXPECT_TRUE(row.work.view() == "a" || row.work.view() == "b");
    }
    EXPECT_EQ(each.size(), 10U);
}

TEST(SliceSummary, AFileThatCannotBeMadeIsAnError) {
    SliceQueue slices({"a"});
    EXPECT_THROW(slices.add_summary({.hdf5 = "/proc/none/slices.h5"}), SetupError);
    EXPECT_THROW(slices.add_summary({.tensorboard = "/proc/none"}), SetupError);
    EXPECT_THROW(slices.add_summary({}), SetupError);
    EXPECT_THROW(slices.add_summary({.hdf5 = "s.h5", .interval = 0}), SetupError);
    EXPECT_NE(slices.take(), std::nullopt);
}

}  // namespace
}  // namespace wq

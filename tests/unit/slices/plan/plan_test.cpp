#include "slices/plan/plan.h"

#include <gmock/gmock.h>

#include <algorithm>

#include <random>

namespace wq::slices::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts(const Plan& plan) {
    std::vector<std::string> all;
    for (std::uint64_t n = 0; n < plan.size(); ++n) all.push_back(plan.at(n).text());
    return all;
}

TEST(Plan, WithoutACutEachWorkIsASlice) {
    const auto plan = Plan::make({{"a", 10}, {"b", {}}, {"a", 10}}, Cut::whole);
    ASSERT_TRUE(plan);
    EXPECT_THAT(texts(*plan), ElementsAre("a", "b", "a"));
}

TEST(Plan, CutsInProportionToRecords) {
    const auto plan = Plan::make({{"a.h5:/x", 8}, {"b.h5:/x", 3}, {"text", {}}, {"empty", 0}}, Cut::total, 5);
    ASSERT_TRUE(plan);
    EXPECT_THAT(texts(*plan),
                ElementsAre("a.h5:/x?start=0&end=3", "a.h5:/x?start=3&end=6", "a.h5:/x?start=6&end=8",
                            "b.h5:/x?start=0&end=2", "b.h5:/x?start=2&end=3", "text"));
}

TEST(Plan, CutsEachSourceAsDeepRecDoes) {
    const auto plan = Plan::make({{"a", 10}, {"b", 2}}, Cut::per_source, 4);
    ASSERT_TRUE(plan);
    EXPECT_THAT(texts(*plan),
                ElementsAre("a?start=0&end=2", "a?start=2&end=4", "a?start=4&end=6", "a?start=6&end=8",
                            "a?start=8&end=10", "b?start=0&end=1", "b?start=1&end=2"));
}

TEST(Plan, WhatNobodyCanCountIsNotCut) {
    for (const Cut cut : {Cut::total, Cut::per_source}) {
        const auto plan = Plan::make({{"a", {}}, {"b", {}}}, cut, 100);
        ASSERT_TRUE(plan);
        EXPECT_THAT(texts(*plan), ElementsAre("a", "b"));
    }
}

// Any plan covers each record once, in order; has as many slices as asked for, and none is empty.
TEST(Plan, CoversEachRecordOnce) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 500; ++round) {
        std::vector<PlanSource> sources(1 + random() % 6);
        std::uint64_t records = 0;
        std::uint64_t not_empty = 0;
        for (PlanSource& source : sources) {
            source.name = "s" + std::to_string(&source - sources.data());
            source.records =
                random() % 3 == 0 ? random() % 3 : random() % (std::uint64_t{1} << random() % 40);
            records += *source.records;
            not_empty += *source.records > 0 ? 1 : 0;
        }
        if (records == 0) continue;
        const bool total = random() % 2 == 0;
        const std::uint64_t most = std::min<std::uint64_t>(records, 3000);
        const std::uint64_t wanted =
            total ? not_empty + random() % (most - not_empty + 1) : 1 + random() % 500;
        const auto plan =
            Plan::make(sources, total ? Cut::total : Cut::per_source, static_cast<std::int64_t>(wanted));
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_TRUE(!total || plan->size() == wanted) << plan->size();
        std::size_t source = 0;
        std::uint64_t next = 0;
        std::uint64_t shortest = 0;
        for (std::uint64_t n = 0; n < plan->size(); ++n) {
            const Slice slice = plan->at(n);
            while (next == *sources[source].records && slice.source != sources[source].name)
                ++source, next = 0;
            if (next == 0) shortest = slice.records->size();
            ASSERT_EQ(slice.source, sources[source].name);
            ASSERT_EQ(slice.records->first, next);
            ASSERT_GT(slice.records->size(), 0U);
            ASSERT_LE(slice.records->size(), shortest) << "a later one is longer";
            ASSERT_TRUE(!total || slice.records->size() + 1 >= shortest);
            next = slice.records->end;
            EXPECT_EQ(Slice::parse(slice.text()), slice);
        }
        EXPECT_EQ(next, *sources[source].records);
        while (++source < sources.size()) EXPECT_EQ(*sources[source].records, 0U);
    }
}

TEST(Plan, OfTrillionsOfSlicesIsAsSmall) {
    const auto plan =
        Plan::make({{"a", 3'000'000'000'000}, {"b", 1'000'000'000'000}}, Cut::total, 1'000'000'000'000);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->size(), 1'000'000'000'000U);
    EXPECT_EQ(plan->at(750'000'000'000).text(), "b?start=0&end=4");
}

TEST(Plan, SaysWhatIsWrong) {
    const auto why = [](std::vector<PlanSource> sources, Cut cut, std::int64_t slices) {
        const auto plan = Plan::make(std::move(sources), cut, slices);
        EXPECT_FALSE(plan);
        EXPECT_EQ(plan.error().code, ExitCode::usage);
        return plan.error().message;
    };
    EXPECT_EQ(why({}, Cut::whole, 0), "the list of works is empty");
    EXPECT_EQ(why({{"a", 1}, {"", 1}}, Cut::whole, 0), "work 2 has no name");
    EXPECT_THAT(why({{"a?start=1&end=2", {}}}, Cut::whole, 0), HasSubstr("names a slice"));
    for (const std::int64_t slices : {0, -1})
        for (const Cut cut : {Cut::total, Cut::per_source})
            EXPECT_THAT(why({{"a", 9}}, cut, slices), HasSubstr("num_slices is " + std::to_string(slices)));
    EXPECT_EQ(why({{"a", 4}, {"b", 5}}, Cut::total, 10), "num_slices is 10, but the works have 9 records");
    EXPECT_THAT(why({{"a", 4}, {"b", 5}}, Cut::total, 1), HasSubstr("there are 2 works to cut"));
    EXPECT_EQ(why({{"a", 0}, {"b", 0}}, Cut::total, 1), "the works have no records");
    EXPECT_EQ(why({{"a", 0}}, Cut::per_source, 1), "the works have no records");
    EXPECT_THAT(why({{"a", Permutation::largest}, {"b", 1}}, Cut::whole, 0),
                HasSubstr("more than 2^62 records"));
}

TEST(Plan, DigestTellsOtherWorks) {
    const auto digest = [](std::vector<PlanSource> sources, Cut cut, std::int64_t slices) {
        return Plan::make(std::move(sources), cut, slices)->digest();
    };
    const std::uint64_t one = digest({{"a", 4}, {"b", 5}}, Cut::total, 4);
    EXPECT_EQ(one, digest({{"a", 4}, {"b", 5}}, Cut::total, 4));
    EXPECT_NE(one, digest({{"a", 4}, {"b", 6}}, Cut::total, 4));
    EXPECT_NE(one, digest({{"a", 4}, {"c", 5}}, Cut::total, 4));
    EXPECT_NE(one, digest({{"b", 5}, {"a", 4}}, Cut::total, 4));
    EXPECT_NE(one, digest({{"a", 4}, {"b", 5}}, Cut::total, 5));
    EXPECT_NE(digest({{"a", 10}}, Cut::total, 4), digest({{"a", 10}}, Cut::per_source, 3))
        << "4 slices as well";
    EXPECT_NE(digest({{"ab", {}}, {"c", {}}}, Cut::whole, 0), digest({{"a", {}}, {"bc", {}}}, Cut::whole, 0));
}

TEST(Slice, IsReadAsItIsWritten) {
    EXPECT_EQ(Slice::parse("odps://t?start=5&end=10"), (Slice{"odps://t", Interval{5, 10}}));
    for (const char* whole :
         {"plain", "a?start=1", "a?start=1&end=", "a?start=x&end=2", "a?start=3&end=2",
          "a?start=1&end=2&more", "a?start=-1&end=2", "?start=1&end=99999999999999999999"})
        EXPECT_EQ(Slice::parse(whole), (Slice{whole, {}})) << whole;
}

TEST(SliceOrder, IsAPermutationOfEachEpoch) {
    auto order = SliceOrder::make({.slices = 50, .epochs = 3, .seed = 4});
    ASSERT_TRUE(order);
    std::vector<std::vector<std::uint64_t>> epochs(3);
    for (std::uint64_t position = 0; position < order->positions(); ++position)
        epochs[order->epoch_of(position)].push_back(order->slice_at(position));
    EXPECT_NE(epochs[0], epochs[1]);
    for (auto epoch : epochs) {
        std::sort(epoch.begin(), epoch.end());
        for (std::uint64_t n = 0; n < 50; ++n) EXPECT_EQ(epoch[n], n);
    }
    EXPECT_EQ(order->slice_at(77), epochs[1][27]) << "in any order of asking";
    EXPECT_EQ(order->slice_at(3), epochs[0][3]);
}

TEST(SliceOrder, IsTheSameOneAfterTheOtherAndBackwards) {
    for (const std::uint64_t slices : {1u, 2u, 7u, 8u, 9u, 40u, 300u, 10'000u}) {
        auto forward = SliceOrder::make({slices, 3, true, slices});
        auto backward = SliceOrder::make({slices, 3, true, slices});
        std::vector<std::uint64_t> all;
        for (std::uint64_t position = 0; position < 3 * slices; ++position)
            all.push_back(forward->slice_at(position));
        for (std::uint64_t position = 3 * slices; position-- > 0;)
            ASSERT_EQ(backward->slice_at(position), all[position]) << slices << ", " << position;
        for (std::uint64_t position = 0; position < slices; ++position)  // with gaps
            ASSERT_TRUE(position % 11 > 8 || forward->slice_at(position) == all[position]);
    }
}

TEST(SliceOrder, WithoutShufflingIsThatOfThePlan) {
    auto order = SliceOrder::make({.slices = 5, .epochs = 2, .shuffle = false});
    ASSERT_TRUE(order);
    for (std::uint64_t position = 0; position < 10; ++position)
        EXPECT_EQ(order->slice_at(position), position % 5);
}

TEST(SliceOrder, SaysWhatIsWrong) {
    EXPECT_FALSE(SliceOrder::make({.slices = 0}));
    EXPECT_THAT(SliceOrder::make({.slices = 1, .epochs = 0}).error().message, HasSubstr("epochs is 0"));
    EXPECT_THAT(SliceOrder::make({.slices = std::uint64_t{1} << 40, .epochs = std::uint64_t{1} << 40})
                    .error()
                    .message,
                HasSubstr("at most 2^62"));
}

}  // namespace
}  // namespace wq::slices::plan

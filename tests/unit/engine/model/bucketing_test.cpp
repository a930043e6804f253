// Modes of bucketing: their buckets by hand, from the formulas in bucketing.h.
#include "engine/model/bucketing.h"

#include <gmock/gmock.h>

#include "unit/engine/model/category_fixture.h"

namespace wq::engine::model {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::exceeding;
using ::testing::Field;

constexpr std::array bucketing_modes{AllocationMode::greedy_bucketing, AllocationMode::exhaustive_bucketing,
                                     AllocationMode::det_greedy_bucketing,
                                     AllocationMode::det_exhaustive_bucketing,
                                     AllocationMode::quantized_bucketing};

constexpr std::array by_waste{AllocationMode::greedy_bucketing, AllocationMode::exhaustive_bucketing,
                              AllocationMode::det_greedy_bucketing, AllocationMode::det_exhaustive_bucketing};

// The n-th peak has the weight n.
PeakHistogram samples_of(const std::vector<std::int64_t>& peaks) {
    PeakHistogram samples(1);
    for (std::size_t n = 0; n < peaks.size(); ++n) samples.add(peaks[n], std::chrono::microseconds(n + 1));
    return samples;
}

auto bucket(std::int64_t size, double share) {
    return ::testing::AllOf(Field(&SizeBucket::size, size),
                            Field(&SizeBucket::share, DoubleNear(share, 1e-12)));
}

// The weights are 1 + ... + 7 = 28 and 8 + 9 + 10 = 27. One bucket wastes 1000 - 35400 / 55 = 356 a task; two
// waste 28 * 27 / 55^2 * (700 + 300) = 250 by chance and 27 / 55 * 300 = 147 in turn.
TEST(Bucketing, TwoSizesAreTwoBuckets) {
    const PeakHistogram samples = samples_of({300, 300, 300, 300, 300, 300, 300, 1000, 1000, 1000});
    for (const AllocationMode mode : bucketing_modes) {
        const double small = mode == AllocationMode::quantized_bucketing ? 0.7 : 28.0 / 55;
        EXPECT_THAT(buckets_of(mode, samples), ElementsAre(bucket(300, small), bucket(1000, 1 - small)))
            << name_of(mode);
    }
}

// One bucket wastes 1000 - 53500 / 55 = 27 a task. Two waste 15 * 40 / 55^2 * (100 + 900) = 198 by chance and
// 40 / 55 * 900 = 655 in turn.
TEST(Bucketing, SimilarSizesAreOneBucket) {
    const PeakHistogram samples = samples_of({900, 900, 900, 900, 900, 1000, 1000, 1000, 1000, 1000});
    for (const AllocationMode mode : by_waste)
        EXPECT_THAT(buckets_of(mode, samples), ElementsAre(bucket(1000, 1))) << name_of(mode);
    EXPECT_THAT(buckets_of(AllocationMode::quantized_bucketing, samples),
                ElementsAre(bucket(900, 0.5), bucket(1000, 0.5)));
}

// Ten of 100 (weight 55), then one of 410, 420 and 1000 (11, 12 and 13). In turn, buckets 100 and 1000 waste
// 36 / 91 * (1100 - 22550 / 36) = 187 a task; 100, 420 and 1000 waste 23 / 91 * (520 - 9550 / 23) +
// 13 / 91 * (1520 - 1000) = 101. By chance, it is 387 and 243.
TEST(Bucketing, ThreeGroups) {
    std::vector<std::int64_t> peaks(10, 100);
    peaks.insert(peaks.end(), {410, 420, 1000});
    const PeakHistogram samples = samples_of(peaks);
    for (const AllocationMode mode : by_waste)
        EXPECT_THAT(buckets_of(mode, samples),
                    ElementsAre(bucket(100, 55.0 / 91), bucket(420, 23.0 / 91), bucket(1000, 13.0 / 91)))
            << name_of(mode);
    // The ranks are 1, 2, 3, 5, 6, 7, 9, 10, 11 and 13 of 13.
    EXPECT_THAT(buckets_of(AllocationMode::quantized_bucketing, samples),
                ElementsAre(bucket(100, 10.0 / 13), bucket(410, 1.0 / 13), bucket(1000, 2.0 / 13)));
}

TEST(Bucketing, NothingUsedIsABucketOfNothing) {
    for (const AllocationMode mode : bucketing_modes) {
        EXPECT_TRUE(buckets_of(mode, PeakHistogram(1)).empty());
        EXPECT_THAT(buckets_of(mode, samples_of({0, 0})), ElementsAre(bucket(0, 1)));
    }
}

TEST(Bucketing, ATaskGetsABucketByItsShareAndALargerOneAfterwards) {
    const SizeBuckets buckets{{300, 0.25}, {500, 0.25}, {1000, 0.5}};
    const auto next = [&](AllocationMode mode, std::int64_t least, double draw) {
        return next_allocation(mode, buckets, 1000, least, draw);
    };
    for (const AllocationMode mode : {AllocationMode::greedy_bucketing, AllocationMode::exhaustive_bucketing,
                                      AllocationMode::quantized_bucketing}) {
        EXPECT_EQ(next(mode, unsaid, 0), 300);
        EXPECT_EQ(next(mode, unsaid, 0.249), 300);
        EXPECT_EQ(next(mode, unsaid, 0.25), 500);
        EXPECT_EQ(next(mode, unsaid, 0.5), 1000);
        EXPECT_EQ(next(mode, unsaid, 0.999), 1000);
        EXPECT_EQ(next(mode, 301, 0.33), 500) << "a third of what is left";
        EXPECT_EQ(next(mode, 301, 0.34), 1000);
    }
    for (const AllocationMode mode :
         {AllocationMode::det_greedy_bucketing, AllocationMode::det_exhaustive_bucketing}) {
        EXPECT_EQ(next(mode, unsaid, 0.999), 300);
        EXPECT_EQ(next(mode, 301, 0.999), 500);
        EXPECT_EQ(next(mode, 501, 0), 1000);
    }
    for (const AllocationMode mode : bucketing_modes) {
        EXPECT_EQ(next(mode, 1001, 0), 2000) << "beyond the buckets, the guess is doubled";
        EXPECT_EQ(next(mode, 5000, 0), 8000);
        EXPECT_EQ(next_allocation(mode, {}, 1000, unsaid, 0), 1000);
        EXPECT_EQ(next_allocation(mode, {}, 0, unsaid, 0), 0);
    }
}

class BucketingCategory : public testing::CategoryTest, public ::testing::WithParamInterface<AllocationMode> {
  protected:
    void SetUp() override { category_.set_mode(GetParam()); }
    Sizes first() const { return next(unsaid); }
    Sizes next(std::int64_t memory_mb) const {
        return category_.next_bucket({}, {.memory_mb = memory_mb}, largest_worker_).sizes;
    }
};

TEST_P(BucketingCategory, BeginsWithAGuess) {
    EXPECT_EQ(first(), (Sizes{1000, 1000, 1000, 0}));
    category_.set_first({.memory_mb = 300});
    EXPECT_EQ(first(), (Sizes{1000, 300, 1000, 0}));
    complete(9, {700, 2000, 10, 0});
    EXPECT_EQ(first(), (Sizes{1000, 300, 1000, 0})) << "nine samples tell nothing";
    EXPECT_FALSE(category_.steady());
    EXPECT_EQ(next(301).memory_mb, 600);
    EXPECT_EQ(next(601).memory_mb, 1200);
    complete(1, {700, 2000, 10, 0});
    EXPECT_TRUE(category_.steady());
    EXPECT_EQ(first(), (Sizes{1000, 2000, 250, 0})) << "not below the least of other bucketing_modes";
    EXPECT_EQ(next(2001).memory_mb, 2400) << "the guess, doubled";
    largest_worker_.memory_mb = 1500;
    EXPECT_EQ(first().memory_mb, 1500) << "no task waits for more than the largest worker has";
    EXPECT_EQ(next(1501).memory_mb, 1501) << "but one that needs more";
    category_.set_max({.memory_mb = 1200});
    EXPECT_EQ(first().memory_mb, 1200);
    category_.set_min({.disk_mb = 400});
    EXPECT_EQ(first().disk_mb, 400);
}

TEST_P(BucketingCategory, ATaskGoesOnFromBucketToBucket) {
    const auto after = [&](std::int64_t given, std::int64_t used, const Sizes& said = {}) {
        return category_.after_exhaustion(said, {.memory_mb = used}, exceeding(ResourceKind::memory),
                                          Try::at_maximum, {.memory_mb = given});
    };
    EXPECT_EQ(after(1000, 1001), AfterExhaustion::at_maximum);
    EXPECT_EQ(after(1000, unsaid), AfterExhaustion::at_maximum) << "killed by the system: not measured";
    EXPECT_EQ(after(1000, 1001, {.memory_mb = 1000}), AfterExhaustion::fail) << "it asked for that";
    category_.set_max({.memory_mb = 1500});
    EXPECT_EQ(after(1000, 1001), AfterExhaustion::at_maximum);
    EXPECT_EQ(after(1500, unsaid), AfterExhaustion::fail) << "there is no more";
    EXPECT_EQ(after(1000, 1501), AfterExhaustion::fail);
    category_.set_automatic(ResourceKind::memory, false);
    EXPECT_EQ(after(1000, 1001), AfterExhaustion::fail);
}

// Over many draws.
TEST_P(BucketingCategory, SharesAreThoseOfTheSamples) {
    constexpr int rounds = 4000;
    int large = 0;
    for (int round = 0; round < rounds; ++round) {
        complete(1, {.memory_mb = round % 5 == 0 ? 1000 : 300});
        const std::int64_t memory_mb = first().memory_mb;
        if (round < 10) continue;
        ASSERT_TRUE(memory_mb == 1000 || memory_mb == 300) << memory_mb;
        if (memory_mb == 1000) ++large;
    }
    const bool in_turn = GetParam() == AllocationMode::det_greedy_bucketing ||
                         GetParam() == AllocationMode::det_exhaustive_bucketing;
    EXPECT_NEAR(static_cast<double>(large) / rounds, in_turn ? 0 : 0.2, 0.03);
}

INSTANTIATE_TEST_SUITE_P(All, BucketingCategory, ::testing::ValuesIn(bucketing_modes), [](const auto& mode) {
    std::string name(name_of(mode.param));
    std::erase(name, '-');
    return name;
});

}  // namespace
}  // namespace wq::engine::model

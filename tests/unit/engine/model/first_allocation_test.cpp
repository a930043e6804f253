// The formulas of first allocations, by hand and against their definition.
#include "engine/model/first_allocation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace wq::engine::model {
namespace {

using namespace std::chrono_literals;

struct Sample {
    std::int64_t peak;
    std::int64_t wall_us;
};
using Samples = std::vector<Sample>;

PeakHistogram histogram_of(const Samples& samples, std::int64_t width) {
    PeakHistogram peaks(width);
    for (const Sample& sample : samples) peaks.add(sample.peak, std::chrono::microseconds(sample.wall_us));
    return peaks;
}

// The definition, on the samples themselves: tries every multiple of the bucket up to that of the largest
// peak, with sums over all samples. Compares over / under of the header's formulas, times n for waste.
namespace brute {

__extension__ using Wide = __int128;

std::int64_t rounded(std::int64_t peak, std::int64_t width) {
    return std::max<std::int64_t>((peak + width - 1) / width, 1) * width;
}

struct Rate {
    Wide over = 0;
    Wide under = 1;
    bool operator<=(const Rate& other) const { return over * other.under <= other.over * under; }
};

Rate cost(const Samples& samples, std::int64_t a, std::int64_t a_max) {
    Rate sum;
    for (const Sample& sample : samples) {
        sum.over += Wide{a} * sample.wall_us;                           // its first try
        if (sample.peak > a) sum.over += Wide{a_max} * sample.wall_us;  // its second
    }
    return sum;
}

Rate rate(const Samples& samples, std::int64_t a, std::int64_t a_max) {
    Rate result{0, 0};
    for (const Sample& sample : samples) {
        const bool fits = sample.peak <= a;
        result.over += fits ? a_max : a;  // (P * a_max / a + (1 - P)), times a
        result.under += Wide{sample.wall_us} * (fits ? 1 : 2);
    }
    result.under *= a;
    return result;
}

using Measure = std::function<Rate(const Samples&, std::int64_t a, std::int64_t a_max)>;

std::int64_t best(const Samples& samples, std::int64_t width, bool least, const Measure& measure) {
    std::int64_t a_max = 0;
    for (const Sample& sample : samples) a_max = std::max(a_max, rounded(sample.peak, width));
    std::int64_t best = width;
    for (std::int64_t a = width; a <= a_max; a += width) {
        const Rate now = measure(samples, a, a_max);
        const Rate before = measure(samples, best, a_max);
        if (least ? now <= before : before <= now) best = a;
    }
    return best;
}

}  // namespace brute

struct PeakShape {
    std::string name;
    std::function<Sample(std::mt19937_64&)> sample;
};

std::int64_t any_between(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// Peaks below 40,000: 40 cores, or 160 buckets of memory.
const std::vector<PeakShape>& shapes() {
    static const std::vector<PeakShape> all{
        {"uniform",
         [](auto& random) {
             return Sample{any_between(random, 1, 40'000), any_between(random, 1, 1'000'000)};
         }},
        {"bimodal",
         [](auto& random) {
             const bool large = any_between(random, 0, 9) == 0;
             return Sample{any_between(random, large ? 30'000 : 900, large ? 33'000 : 1100),
                           any_between(random, 1, 1'000'000)};
         }},
        {"large ones are long",
         [](auto& random) {
             const std::int64_t peak = any_between(random, 1, 20'000);
             return Sample{peak, peak * 1000};
         }},
        {"large ones are short",
         [](auto& random) {
             const std::int64_t peak = any_between(random, 1, 20'000);
             return Sample{peak, 40'000'000 / peak};
         }},
        {"heavy tail",
         [](auto& random) {
             return Sample{std::min<std::int64_t>(40'000'000 / any_between(random, 1, 200'000), 40'000),
                           any_between(random, 1, 1'000'000)};
         }},
        {"all equal",
         [](auto&) {
             return Sample{777, 1234};
         }},
        {"equal times, few sizes",
         [](auto& random) {
             return Sample{1000 * (std::int64_t{1} << any_between(random, 0, 4)), 1000};
         }},
        {"some take nothing and end at once",
         [](auto& random) {
             const bool nothing = any_between(random, 0, 1) == 0;
             return nothing ? Sample{0, 1} : Sample{any_between(random, 0, 5000), any_between(random, 1, 3)};
         }},
    };
    return all;
}

class Formulas : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Formulas, AreTheirDefinition) {
    const PeakShape& shape = shapes()[GetParam()];
    std::mt19937_64 random(GetParam() + 1);
    for (int round = 0; round < 500; ++round) {
        const bool one = round % 10 == 0;
        Samples samples(one ? 1 : static_cast<std::size_t>(any_between(random, 2, 40)));
        for (Sample& sample : samples) sample = shape.sample(random);
        if (std::ranges::all_of(samples, [](const Sample& sample) { return sample.peak == 0; })) continue;
        const std::int64_t width = round % 2 == 0 ? 1000 : 250;
        const PeakHistogram peaks = histogram_of(samples, width);
        const std::string what = shape.name + ", round " + std::to_string(round);
        ASSERT_EQ(min_waste(peaks), brute::best(samples, width, true, brute::cost)) << what;
        ASSERT_EQ(max_throughput(peaks), brute::best(samples, width, false, brute::rate)) << what;

        std::int64_t largest = 0;
        for (const Sample& sample : samples) largest = std::max(largest, sample.peak);
        ASSERT_EQ(largest_seen(peaks, 83), brute::rounded(largest + 83, width)) << what;
        ASSERT_GE(largest_seen(peaks, 83), min_waste(peaks)) << what;
        ASSERT_GE(largest_seen(peaks, 83), max_throughput(peaks)) << what;
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Formulas, ::testing::Range<std::size_t>(0, 8));

// 100 tasks of 1 core and 10 of 8, a second each. Waste: 1 core costs 110 + 80, 8 cost 880. Throughput: the
// space of 8 cores runs 8 tasks of 1 core in a second, minus those that run twice.
TEST(FirstAllocation, ByHand) {
    PeakHistogram peaks(1000);
    for (int i = 0; i < 100; ++i) peaks.add(1000, 1s);
    for (int i = 0; i < 10; ++i) peaks.add(8000, 1s);
    EXPECT_EQ(min_waste(peaks), 1000);
    EXPECT_EQ(max_throughput(peaks), 1000);

    // The large ones take a minute each: then their second try costs more than all the others save.
    PeakHistogram long_ones(1000);
    for (int i = 0; i < 10; ++i) long_ones.add(7000, 1s);
    for (int i = 0; i < 10; ++i) long_ones.add(8000, 60s);
    EXPECT_EQ(min_waste(long_ones), 8000);
    EXPECT_EQ(max_throughput(long_ones), 8000);
}

// Half of them need 1 core and half 2, a second each: 2 cores for all, or a second try for half of them,
// costs the same, but with 2 nothing runs twice.
TEST(FirstAllocation, OfEquallyGoodOnesTheLargest) {
    PeakHistogram peaks(1000);
    for (int i = 0; i < 10; ++i) peaks.add(i < 5 ? 1000 : 2000, 1s);
    EXPECT_EQ(min_waste(peaks), 2000);
}

TEST(FirstAllocation, IsExactWhereDoublesAreNot) {
    PeakHistogram peaks(1);
    constexpr auto day = 24h;
    for (int i = 0; i < 1000; ++i) peaks.add(1, day);
    for (int i = 0; i < 1000; ++i) peaks.add(2, day);
    EXPECT_EQ(min_waste(peaks), 2) << "as good";
    peaks.add(1, 1us);
    EXPECT_EQ(min_waste(peaks), 1) << "better by a microsecond of 2000 days";
}

// By the formula, the space of a large one would hold 2^32 of the small one.
TEST(FirstAllocation, OfTheWildestThereIsStillTheDefinition) {
    PeakHistogram peaks(250);
    for (int i = 0; i < 100; ++i) peaks.add(INT64_MAX, Duration::max());
    const std::int64_t most = 250 * (std::int64_t{1} << 32);
    EXPECT_EQ(max_throughput(peaks), most);
    peaks.add(INT64_MIN, Duration::min());
    EXPECT_EQ(max_throughput(peaks), 250);
    EXPECT_EQ(min_waste(peaks), most);
    EXPECT_EQ(largest_seen(peaks, 83), most);
}

TEST(FirstAllocation, OfNothingIsNothing) {
    for (const AllocationMode mode : {AllocationMode::fixed, AllocationMode::max, AllocationMode::min_waste,
                                      AllocationMode::max_throughput})
        EXPECT_EQ(first_allocation(mode, PeakHistogram(250), bucket_of(ResourceKind::memory), {}), unsaid);
}

TEST(FirstAllocation, OfTasksThatTookNothing) {
    PeakHistogram peaks(1000);
    peaks.add(0, 1s);
    for (const AllocationMode mode :
         {AllocationMode::max, AllocationMode::min_waste, AllocationMode::max_throughput}) {
        EXPECT_EQ(first_allocation(mode, peaks, bucket_of(ResourceKind::gpus), {}), 0) << "no GPU";
        EXPECT_EQ(first_allocation(mode, peaks, bucket_of(ResourceKind::cores), {}), 1000) << "but a core";
    }
    peaks.add(1000, 1s);
    EXPECT_EQ(min_waste(peaks), 1000) << "who gets no GPU would not exhaust it, but fail";
    EXPECT_EQ(max_throughput(peaks), 1000);
}

TEST(FirstAllocation, FixedIsWhatTheUserSays) {
    PeakHistogram peaks(250);
    peaks.add(9000, 1s);
    const Bucket bucket = bucket_of(ResourceKind::memory);
    EXPECT_EQ(first_allocation(AllocationMode::fixed, peaks, bucket, {}), unsaid);
    EXPECT_EQ(first_allocation(AllocationMode::fixed, peaks, bucket, {.least = unsaid, .most = 1111}), 1111);
}

TEST(FirstAllocation, IsKeptWithinItsBounds) {
    PeakHistogram peaks(250);
    peaks.add(1000, 1s);
    const auto of = [&](Bounds bounds) {
        return first_allocation(AllocationMode::max, peaks, bucket_of(ResourceKind::memory), bounds);
    };
    EXPECT_EQ(of({}), 1250);
    EXPECT_EQ(of({.most = 1010}), 1010) << "no multiple of the bucket, but the maximum";
    EXPECT_EQ(of({.worker = 1100}), 1100);
    EXPECT_EQ(of({.most = 1200, .worker = 1100}), 1100);
    EXPECT_EQ(of({.most = 1100, .worker = 1200}), 1100);
    EXPECT_EQ(of({.least = 2000}), 2000);
    EXPECT_EQ(of({.least = 2000, .worker = 1100}), 2000) << "it waits for a larger worker";
    EXPECT_EQ(of({.least = 2000, .most = 1500}), 1500) << "the maximum holds";
    EXPECT_EQ(of({.most = 0}), 0);
}

}  // namespace
}  // namespace wq::engine::model

// Peaks in buckets.
#include "engine/model/first_allocation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace wq::engine::model {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

TEST(Bucket, IsOfWorkQueue) {
    EXPECT_EQ(bucket_of(ResourceKind::cores).width, 1000) << "one, in thousandths";
    EXPECT_EQ(bucket_of(ResourceKind::gpus).width, 1000);
    EXPECT_EQ(bucket_of(ResourceKind::memory).width, 250);
    EXPECT_EQ(bucket_of(ResourceKind::disk).width, 250);
    EXPECT_EQ(bucket_of(ResourceKind::memory).margin, 83);
    EXPECT_EQ(bucket_of(ResourceKind::cores).margin, 0) << "a third of one core, as whole cores";
}

TEST(RoundUp, GoesToTheNextMultiple) {
    EXPECT_EQ(round_up(1, 250), 250);
    EXPECT_EQ(round_up(250, 250), 250);
    EXPECT_EQ(round_up(251, 250), 500);
    EXPECT_EQ(round_up(1500, 1000), 2000);
    EXPECT_EQ(round_up(1024 * 250, 250), 1024 * 250);
    EXPECT_EQ(round_up(0, 250), 250) << "one at least";
    EXPECT_EQ(round_up(smallest, 250), 250);
}

TEST(RoundUp, WidensBeyondAThousandAndIsExactBelow) {
    std::int64_t before = 0;
    for (std::int64_t widths = 1; widths < 100'000; ++widths) {
        for (const std::int64_t amount : {widths * 250 - 249, widths * 250}) {
            const std::int64_t end = round_up(amount, 250);
            ASSERT_GE(end, amount);
            ASSERT_GE(end, before);
            ASSERT_EQ(end % 250, 0);
            ASSERT_LE((end - widths * 250) * 512, widths * 250) << "1/512 more at most";
            if (widths <= 1024) {
                ASSERT_EQ(end, widths * 250);
            }
            ASSERT_EQ(round_up(end, 250), end) << "what was rounded stays so";
            before = end;
        }
    }
}

TEST(RoundUp, EndsAtTwoToThe32) {
    const std::int64_t most = (std::int64_t{1} << 32) * 250;
    EXPECT_EQ(round_up(most, 250), most);
    EXPECT_EQ(round_up(most + 1, 250), most);
    EXPECT_EQ(round_up(largest, 250), most);
}

TEST(PeakHistogram, CountsTasksAndTheirTimes) {
    PeakHistogram peaks(250);
    EXPECT_TRUE(peaks.empty());
    EXPECT_EQ(peaks.largest(), unsaid);
    peaks.add(100, 2s);
    peaks.add(250, 3s);
    peaks.add(251, 1s);
    ASSERT_EQ(peaks.buckets().size(), 2u);
    EXPECT_EQ(peaks.buckets()[0], (PeakHistogram::Tasks{250, 2, 5'000'000}));
    EXPECT_EQ(peaks.buckets()[1], (PeakHistogram::Tasks{500, 1, 1'000'000}));
    EXPECT_EQ(peaks.largest(), 251) << "as it was measured";
}

TEST(PeakHistogram, EveryTaskHasAWeight) {
    PeakHistogram peaks(1);
    peaks.add(1, 0s);
    peaks.add(1, -5s);
    peaks.add(1, 999ns);
    EXPECT_EQ(peaks.buckets().at(0), (PeakHistogram::Tasks{1, 3, 3}));
}

// Times and sizes that no peer could have measured.
TEST(PeakHistogram, StaysSmallWhateverIsMeasured) {
    std::mt19937_64 random(4);
    for (const ResourceKind kind : resource_kinds) {
        PeakHistogram peaks(bucket_of(kind).width);
        for (int i = 0; i < 1'000'000; ++i) {
            const auto wild = static_cast<std::int64_t>(random());
            peaks.add(wild >> (random() % 64), Duration(wild));
        }
        EXPECT_LE(peaks.buckets().size(), PeakHistogram::most_buckets);
        EXPECT_GT(peaks.buckets().size(), 10'000u) << "nearly all that there can be";
        EXPECT_EQ(peaks.largest(), (std::int64_t{1} << 32) * bucket_of(kind).width);
    }
}

TEST(PeakHistogram, FillsAllItsBucketsAndNoMore) {
    PeakHistogram peaks(1);
    for (std::int64_t widths = 1; widths <= std::int64_t{1} << 32; widths = round_up(widths + 1, 1)) {
        peaks.add(widths, 1s);
        if (widths == std::int64_t{1} << 32) break;
    }
    EXPECT_EQ(peaks.buckets().size(), PeakHistogram::most_buckets);
    EXPECT_EQ(peaks.buckets().back().end, std::int64_t{1} << 32);
}

TEST(PeakHistogram, DoesNotKnowTheOrder) {
    std::mt19937_64 random(7);
    std::vector<std::pair<std::int64_t, Duration>> samples(10'000);
    for (auto& [peak, wall] : samples) {
        peak = static_cast<std::int64_t>(random() >> (random() % 64));
        wall = Duration(random() % 1'000'000'000'000);
    }
    const auto filled = [&] {
        PeakHistogram peaks(250);
        for (const auto& [peak, wall] : samples) peaks.add(peak, wall);
        return peaks;
    };
    const PeakHistogram before = filled();
    std::ranges::shuffle(samples, random);
    EXPECT_EQ(filled(), before);
}

}  // namespace
}  // namespace wq::engine::model

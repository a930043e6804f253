// The first allocation of a resource for the tasks of a category; a task that exceeds it runs once more with
// the largest peak of any task. From B. Tovar and others, "A Job Sizing Strategy for High-Throughput
// Scientific Workflows", IEEE Transactions on Parallel and Distributed Systems 29(2), 2018, with the buckets
// of Work Queue.
//
// Of n tasks, task i has the peak p(i), rounded up to its bucket, and the run time t(i). A is the largest p.
//   tau     = sum of all t(i) / n                   the mean time of a task, whatever it used
//   P(a)    = share of the tasks with p(i) <= a     those that fit into a
//   tail(a) = sum of t(i) where p(i) > a, / n       the repeated time per task, since their first try is lost
// With a as the first allocation, a task costs a * tau + A * tail(a), resource times time. The space of one
// task with A holds A / a first tries, or one second try; each takes tau + tail(a) on average. Candidates for
// `a` are the buckets' upper ends; of equally good ones the largest is taken, because fewer tasks run twice.
// All computations are exact and independent of the order of samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "engine/model/resources.h"

namespace wq::engine::model {

// Histogram of the peak use of one resource by the tasks of a category, with run times: the input of
// first_allocation().

// The step sizes of a resource. Work Queue's: 1 core, 1 GPU, 250 MB of memory or disk.
struct Bucket {
    std::int64_t width = 1;
    // Added to the largest peak for an allocation that suits all tasks: a third of a bucket, in whole units
    // (83 MB; 0 for one core or GPU).
    std::int64_t margin = 0;
    // The minimum allocation. A measured 0 may only mean less than one unit; but a task that uses no GPU
    // needs none.
    std::int64_t least = 0;
};

constexpr Bucket bucket_of(ResourceKind kind) {
    switch (kind) {
        case ResourceKind::cores:
            return {1000, 0, 1000};
        case ResourceKind::gpus:
            return {1000, 0, 0};
        case ResourceKind::memory:
        case ResourceKind::disk:
            break;
    }
    return {250, 250 / 3, 250};
}

// The upper end of the bucket that holds the amount: the next multiple of `width`, at least one. Beyond 1024
// buckets (256,000 MB; 1024 cores) widths grow with the amount, up to 1/512 of it, so that buckets stay few;
// an end is still a multiple of `width`. Amounts beyond 2^32 widths count as that.
std::int64_t round_up(std::int64_t amount, std::int64_t width);

class PeakHistogram {
  public:
    // Maximum number of buckets: 1024, and 512 for each of the 22 doublings above.
    static constexpr std::size_t most_buckets = 1024 + std::size_t{22} * 512;
    // Sums are exact up to 2^40 tasks of a century each.
    __extension__ using Micros = unsigned __int128;
    struct Tasks {
        std::int64_t end = 0;  // upper end of their bucket
        std::uint64_t count = 0;
        Micros wall_us{0};  // the sum over all of them
        bool operator==(const Tasks&) const = default;
    };

    PeakHistogram() = default;
    explicit PeakHistogram(std::int64_t width) : width_(width) {}

    // One task ended with this peak; below 0 counts as 0. Its time counts as at least a microsecond, so that
    // each task has a weight, and as at most a century.
    void add(std::int64_t peak, Duration wall);

    std::int64_t width() const { return width_; }
    bool empty() const { return buckets_.empty(); }
    std::int64_t largest() const { return largest_; }  // as measured; unsaid: no sample yet
    // Only non-empty ones, ascending.
    const std::vector<Tasks>& buckets() const { return buckets_; }

    bool operator==(const PeakHistogram&) const = default;

  private:
    std::int64_t width_ = 1;
    std::int64_t largest_ = unsaid;
    std::vector<Tasks> buckets_;  // a vector: it is scanned far more often than extended
};

// Work Queue's modes, with its numbers.
enum class AllocationMode : std::uint8_t {
    fixed = 0,           // the user's settings; nothing is computed
    max = 1,             // the largest peak seen
    min_waste = 2,       // the least resource times time
    max_throughput = 3,  // the most tasks per time
    // bucketing.h
    greedy_bucketing = 4,
    exhaustive_bucketing = 5,
    det_greedy_bucketing = 6,
    det_exhaustive_bucketing = 7,
    quantized_bucketing = 8
};
inline constexpr AllocationMode last_mode = AllocationMode::quantized_bucketing;
constexpr AllocationMode last_of(AllocationMode) {
    return last_mode;
}
std::string_view name_of(AllocationMode mode);  // "min-waste", as in lists

// Each returns `unsaid` without samples, 0 if no task used any, else the upper end of a bucket.

// argmin over a of a * tau + A * tail(a).
std::int64_t min_waste(const PeakHistogram& peaks);
// argmax over a of (P(a) * A / a + (1 - P(a))) / (tau + tail(a)).
std::int64_t max_throughput(const PeakHistogram& peaks);
// round_up(largest peak + margin): enough for every task seen.
std::int64_t largest_seen(const PeakHistogram& peaks, std::int64_t margin);

// Bounds of an allocation; unsaid: no bound.
struct Bounds {
    std::int64_t least = unsaid;  // the category's minimum
    std::int64_t most = unsaid;   // its maximum; takes precedence over the minimum
    // The largest worker: a computed amount never waits for more, but the minimum does.
    std::int64_t worker = unsaid;
};
std::int64_t bounded(std::int64_t size, const Bounds& bounds);

// The first allocation of the resource in `mode`; fixed: the maximum. unsaid: no samples, no setting, or
// bucketing.
std::int64_t first_allocation(AllocationMode mode, const PeakHistogram& peaks, const Bucket& bucket,
                              const Bounds& bounds);

}  // namespace wq::engine::model

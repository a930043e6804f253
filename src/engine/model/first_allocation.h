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

#include <cstdint>
#include <string_view>

#include "engine/model/peak_histogram.h"

namespace wq::engine::model {

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

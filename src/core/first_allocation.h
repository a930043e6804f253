// How much of a resource the tasks of a category are tried with first, when each that takes more is run once
// more with as much as any of them took. From B. Tovar and others, "A Job Sizing Strategy for
// High-Throughput Scientific Workflows", IEEE Transactions on Parallel and Distributed Systems 29(2), 2018,
// with the buckets of Work Queue.
//
// Of n tasks, task i took p(i) at most, rounded up to its bucket, and ran for t(i). Let A be the largest p,
//   tau     = sum of all t(i) / n                  the mean time of a task, whatever it took
//   P(a)    = share of the tasks with p(i) <= a     those that a is enough for
//   tail(a) = sum of t(i) where p(i) > a, / n       the time spent again per task, as the first try of these
//   is
//                                                   reckoned to be lost whole
// With a as the first allocation, a task costs a * tau + A * tail(a), resource times time, and the place of
// one task with A holds A / a tries, or one after such a try failed; each takes tau + tail(a) on average.
// Candidates for `a` are the buckets' upper ends; of equally good ones the largest is taken, as fewer tasks
// are run twice. All is exact, and no order of the samples makes a difference.
#pragma once

#include <cstdint>

#include "core/peak_histogram.h"

namespace wq::core {

// As Work Queue has them, with its numbers.
enum class AllocationMode : std::uint8_t {
    fixed = 0,          // what the user says, nothing is computed
    max = 1,            // the largest that was seen
    min_waste = 2,      // the least resource times time
    max_throughput = 3  // the most tasks in a time
};

// Each of these: `unsaid` of no samples; 0 where no task took any; else an upper end of a bucket.

// argmin over a of a * tau + A * tail(a).
std::int64_t min_waste(const PeakHistogram& peaks);
// argmax over a of (P(a) * A / a + (1 - P(a))) / (tau + tail(a)).
std::int64_t max_throughput(const PeakHistogram& peaks);
// round_up(largest peak + margin): nobody takes more, by what was seen.
std::int64_t largest_seen(const PeakHistogram& peaks, std::int64_t margin);

// What an allocation is kept within; unsaid: no bound.
struct Bounds {
    std::int64_t least = unsaid;  // the category's minimum
    std::int64_t most = unsaid;   // its maximum; where the minimum is above it, the maximum holds
    // The most that any worker has: nothing computed waits for more, but the minimum does.
    std::int64_t worker = unsaid;
};
std::int64_t bounded(std::int64_t size, const Bounds& bounds);

// What `mode` gives of the resource at a first try; fixed: the maximum. unsaid: it gives nothing, as nothing
// was seen, or said.
std::int64_t first_allocation(AllocationMode mode, const PeakHistogram& peaks, const Bucket& bucket,
                              const Bounds& bounds);

}  // namespace wq::core

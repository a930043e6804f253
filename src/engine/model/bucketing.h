// Bucketing: allocations for categories whose tasks fall into groups of different size. From T. S. Phung and
// others, "Adaptive Task-Oriented Resource Allocation for Large Dynamic Workflows on Opportunistic
// Resources", IPDPS 2024, and "Not All Tasks Are Created Equal", WORKS 2021, with the constants of CCTools.
//
// The peaks of finished tasks, in ascending order, are cut into buckets. A bucket's allocation is the largest
// peak in it, so a task either fits or is tried again with a larger bucket; beyond the largest one, the guess
// is doubled until it is large enough. The n-th task has the weight n, because recent tasks tell most. With
//   w(i)  = share of the weight that bucket i holds     a(i) = its allocation
//   E(i)  = weighted mean of the peaks in it
// the modes look for the buckets that waste the least per task:
//   exhaustive     For n = 1 to 10, candidates for allocations are the powers of two up to A / n (A: the
//                  largest peak) and n equal steps to A. Cost: sum of w(i) w(j) T(i, j), where a task of
//                  bucket i that begins with bucket j wastes T(i, j) = a(j) - E(i), if it fits, else a(j) and
//                  the mean of T(i, k) over the larger buckets k, by their weights.
//   greedy         Cuts at the peak with the least cost of the two parts by the same formula, then each part
//                  again, until no cut costs less than none.
//   det_...        The same for tasks that begin with the smallest bucket and try one after the other:
//                  T(i) = a(1) + ... + a(i) - E(i).
//   quantized      Ten buckets with equal numbers of tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/first_allocation.h"

namespace wq::engine::model {

struct SizeBucket {
    std::int64_t size = 0;  // the allocation
    double share = 0;       // of the weight, or of the tasks
    bool operator==(const SizeBucket&) const = default;
};
using SizeBuckets = std::vector<SizeBucket>;  // ascending; the shares sum to 1

constexpr bool is_bucketing(AllocationMode mode) {
    return mode >= AllocationMode::greedy_bucketing;
}

// While there are fewer samples, tasks begin with a guess.
inline constexpr std::uint64_t samples_to_bucket = 10;
// CCTools' guess, unless the user has a better one: one core, 1000 MB of memory and of disk, no GPU.
constexpr std::int64_t usual_guess(ResourceKind kind) {
    return kind == ResourceKind::gpus ? 0 : 1000;
}

// `samples` has weights in place of times. Without samples: none.
SizeBuckets buckets_of(AllocationMode mode, const PeakHistogram& samples);

// The next allocation of at least `least`: the guess, doubled if it is too small, without large enough
// buckets; else that of the smallest of these (det_...) or of the one at `draw`, from 0 to below 1, if they
// lie end to end by their shares.
std::int64_t next_allocation(AllocationMode mode, const SizeBuckets& buckets, std::int64_t guess,
                             std::int64_t least, double draw);

}  // namespace wq::engine::model

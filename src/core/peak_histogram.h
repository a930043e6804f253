// How much of one resource the tasks of a category took at most, and for how long they ran: what first
// allocations are computed from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "core/sizes.h"

namespace wq::core {

// The steps in which a resource is counted and given. Work Queue's: 1 core, 1 GPU, 250 MB of memory or disk.
struct Bucket {
    std::int64_t width = 1;
    // What is added to the largest peak seen where that is to do for all: a third of a bucket, as whole units
    // of the resource (83 MB; of a single core or GPU: 0).
    std::int64_t margin = 0;
    // No task gets less. It may have been seen with 0, as what it took was less than the unit; but one
    // without a GPU needs none.
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

// The bucket's upper end that holds the amount: the next multiple of `width`, at least one. Beyond 1024 of
// them (256,000 MB; 1024 cores) the buckets widen with the amount, to 1/512 of it at most, so that they are
// few whatever is measured; an end is a multiple of `width` still. Amounts beyond 2^32 widths count as that.
std::int64_t round_up(std::int64_t amount, std::int64_t width);

class PeakHistogram {
  public:
    // The most buckets that there can be: 1024, and 512 for each of the 22 doublings behind them.
    static constexpr std::size_t most_buckets = 1024 + std::size_t{22} * 512;
    // Sums are exact: of 2^40 tasks that take a century each.
    __extension__ using Micros = unsigned __int128;
    struct Tasks {
        std::int64_t end = 0;  // of their bucket
        std::uint64_t count = 0;
        Micros wall_us{0};  // of all of them
        bool operator==(const Tasks&) const = default;
    };

    PeakHistogram() = default;
    explicit PeakHistogram(std::int64_t width) : width_(width) {}

    // One task ended, and took `peak` at most; below 0 counts as 0. Its time counts as a microsecond at
    // least, so that each task has a weight, and as a century at most.
    void add(std::int64_t peak, Duration wall);

    std::int64_t width() const { return width_; }
    bool empty() const { return buckets_.empty(); }
    std::int64_t largest() const { return largest_; }  // as it was measured; unsaid: none yet
    // By their upper ends, from the smallest up; only those that hold tasks.
    const std::vector<Tasks>& buckets() const { return buckets_; }

    bool operator==(const PeakHistogram&) const = default;

  private:
    std::int64_t width_ = 1;
    std::int64_t largest_ = unsaid;
    std::vector<Tasks> buckets_;  // looked through far more often than one is added
};

}  // namespace wq::core

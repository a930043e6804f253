// Histogram of the peak use of one resource by the tasks of a category, with run times: the input of
// first_allocation.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "engine/model/sizes.h"

namespace wq::engine::model {

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

}  // namespace wq::engine::model

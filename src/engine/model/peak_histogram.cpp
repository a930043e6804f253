#include "engine/model/peak_histogram.h"

#include <algorithm>
#include <bit>

namespace wq::engine::model {

namespace {

constexpr int exact_bits = 10;  // log2 of the number of buckets with equal width
constexpr std::int64_t most_widths = std::int64_t{1} << 32;
constexpr std::int64_t century_us = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000;

}  // namespace

std::int64_t round_up(std::int64_t amount, std::int64_t width) {
    if (amount <= width) return width;
    const std::int64_t below = std::min((amount - 1) / width, most_widths - 1);
    const int wider =
        std::max(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(below))) - exact_bits, 0);
    return (((below >> wider) + 1) << wider) * width;
}

void PeakHistogram::add(std::int64_t peak, Duration wall) {
    peak = std::clamp<std::int64_t>(peak, 0, most_widths * width_);
    const auto micros = std::clamp<std::int64_t>(wall / std::chrono::microseconds(1), 1, century_us);
    const std::int64_t end = round_up(peak, width_);
    auto tasks = std::ranges::lower_bound(buckets_, end, {}, &Tasks::end);
    if (tasks == buckets_.end() || tasks->end != end) tasks = buckets_.insert(tasks, Tasks{end, 0, 0});
    ++tasks->count;
    tasks->wall_us += static_cast<Micros>(micros);
    largest_ = std::max(largest_, peak);
}

}  // namespace wq::engine::model

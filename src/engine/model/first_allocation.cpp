#include "engine/model/first_allocation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace wq::engine::model {

namespace {

using Wide = PeakHistogram::Micros;

// Sums over all tasks and over those in the buckets up to one. Sizes are in bucket widths: otherwise products
// would exceed 128 bits.
struct Split {
    Wide first = 0;  // the first allocation
    Wide largest = 0;
    Wide fit = 0;  // tasks that fit into it
    Wide others = 0;
    Wide time = 0;  // of all tasks
    Wide tail = 0;  // of the tasks that do not fit
};

// Calls `look` with each candidate in ascending order.
template <class Look>
void for_each_split(const PeakHistogram& peaks, Look&& look) {
    Split split;
    for (const PeakHistogram::Tasks& tasks : peaks.buckets()) {
        split.others += tasks.count;
        split.time += tasks.wall_us;
    }
    split.largest = static_cast<Wide>(peaks.buckets().back().end / peaks.width());
    split.tail = split.time;
    for (const PeakHistogram::Tasks& tasks : peaks.buckets()) {
        split.first = static_cast<Wide>(tasks.end / peaks.width());
        split.fit += tasks.count;
        split.others -= tasks.count;
        split.tail -= tasks.wall_us;
        look(tasks.end, split);
    }
}

// Doubles (exact to 2^-50) decide comparisons that are clearer than this. This saves most exact comparisons:
// 12,000 buckets took 0.55 of the time.
constexpr double surely_less = 1 - 1e-9;

struct Fraction {
    Wide over = 0;
    Wide under = 1;
};

// Exact, without products: compares the whole parts and, while these are equal, the inverses of the
// remainders.
bool is_less(Fraction a, Fraction b) {
    for (;;) {
        if (a.over / a.under != b.over / b.under) return a.over / a.under < b.over / b.under;
        const Wide rest_a = a.over % a.under;
        const Wide rest_b = b.over % b.under;
        if (rest_a == 0 || rest_b == 0) return rest_b != 0;
        const Fraction inverse_a{a.under, rest_a};
        a = {b.under, rest_b};
        b = inverse_a;
    }
}

}  // namespace

std::string_view name_of(AllocationMode mode) {
    constexpr std::array<std::string_view, 9> names{"fixed",
                                                    "max",
                                                    "min-waste",
                                                    "max-throughput",
                                                    "greedy-bucketing",
                                                    "exhaustive-bucketing",
                                                    "det-greedy-bucketing",
                                                    "det-exhaustive-bucketing",
                                                    "quantized-bucketing"};
    return names.at(static_cast<std::size_t>(mode));
}

std::int64_t min_waste(const PeakHistogram& peaks) {
    if (peaks.largest() <= 0) return peaks.largest();
    std::optional<Wide> least;
    std::int64_t best = unsaid;
    for_each_split(peaks, [&](std::int64_t end, const Split& split) {
        const Wide cost = split.first * split.time + split.largest * split.tail;
        if (!least || cost <= *least) least = cost, best = end;
    });
    return best;
}

std::int64_t max_throughput(const PeakHistogram& peaks) {
    if (peaks.largest() <= 0) return peaks.largest();
    Fraction most;
    double about_most = 0;
    std::int64_t best = unsaid;
    for_each_split(peaks, [&](std::int64_t end, const Split& split) {
        const Fraction rate{split.fit * split.largest + split.others * split.first,
                            split.first * (split.time + split.tail)};
        const double about = static_cast<double>(rate.over) / static_cast<double>(rate.under);
        if (about < about_most * surely_less || is_less(rate, most)) return;
        most = rate, about_most = about, best = end;
    });
    return best;
}

std::int64_t largest_seen(const PeakHistogram& peaks, std::int64_t margin) {
    if (peaks.largest() <= 0) return peaks.largest();
    return round_up(peaks.largest() + margin, peaks.width());
}

std::int64_t bounded(std::int64_t size, const Bounds& bounds) {
    if (bounds.worker >= 0) size = std::min(size, bounds.worker);
    size = std::max(size, bounds.least);
    return bounds.most >= 0 ? std::min(size, bounds.most) : size;
}

std::int64_t first_allocation(AllocationMode mode, const PeakHistogram& peaks, const Bucket& bucket,
                              const Bounds& bounds) {
    std::int64_t size = unsaid;
    switch (mode) {
        case AllocationMode::fixed:
            return bounds.most;
        case AllocationMode::max:
            size = largest_seen(peaks, bucket.margin);
            break;
        case AllocationMode::min_waste:
            size = min_waste(peaks);
            break;
        case AllocationMode::max_throughput:
            size = max_throughput(peaks);
            break;
        default:
            break;
    }
    return size < 0 ? unsaid : bounded(std::max(size, bucket.least), bounds);
}

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

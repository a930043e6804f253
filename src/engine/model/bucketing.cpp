#include "engine/model/bucketing.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

namespace wq::engine::model {

namespace {

constexpr int most_buckets = 10;

// Sums over the samples that come before each, in units of the histogram's width.
class Samples {
  public:
    explicit Samples(const PeakHistogram& peaks) {
        for (const PeakHistogram::Tasks& tasks : peaks.buckets()) {
            const auto weight = static_cast<double>(tasks.wall_us);
            values_.push_back(static_cast<double>(tasks.end) / static_cast<double>(peaks.width()));
            weights_.push_back(weights_.back() + weight);
            sums_.push_back(sums_.back() + values_.back() * weight);
        }
    }
    std::size_t size() const { return values_.size(); }
    double value(std::size_t at) const { return values_[at]; }
    double largest() const { return values_.back(); }
    // Of the samples from `first` to before `end`.
    double weight(std::size_t first, std::size_t end) const { return weights_[end] - weights_[first]; }
    double mean(std::size_t first, std::size_t end) const {
        return (sums_[end] - sums_[first]) / weight(first, end);
    }

  private:
    std::vector<double> values_;
    std::vector<double> weights_{0};
    std::vector<double> sums_{0};
};

// Buckets as the ends of their samples, ascending.
using Ends = std::vector<std::size_t>;

struct Group {
    double size;
    double share;
    double mean;
};

std::vector<Group> groups_of(const Samples& samples, const Ends& ends) {
    std::vector<Group> groups;
    std::size_t first = 0;
    for (const std::size_t end : ends) {
        const double share = samples.weight(first, end) / samples.weight(0, samples.size());
        groups.push_back({samples.value(end - 1), share, samples.mean(first, end)});
        first = end;
    }
    return groups;
}

// ---- exhaustive ----

double cost_in_turn(std::span<const Group> groups) {
    double cost = 0;
    double tried = 0;
    for (const Group& group : groups) {
        tried += group.size;
        cost += group.share * (tried - group.mean);
    }
    return cost;
}

double cost_by_chance(std::span<const Group> groups) {
    double cost = 0;
    for (std::size_t in = 0; in < groups.size(); ++in) {
        // From the largest bucket to begin with down; both sums are over the buckets above.
        double above = 0;
        double above_shares = 0;
        for (std::size_t begin = groups.size(); begin-- > 0;) {
            const auto& [size, share, mean] = groups[begin];
            const double waste = begin >= in ? size - groups[in].mean : size + above / above_shares;
            above += share * waste;
            above_shares += share;
        }
        cost += groups[in].share * above;
    }
    return cost;
}

// Cuts after the last sample below each candidate; empty buckets are left out.
Ends cut_at_candidates(const Samples& samples, int count) {
    std::vector<double> candidates;
    const double step = samples.largest() / count;
    for (double power = 1; power * 2 <= step; power *= 2) candidates.push_back(power);
    for (int i = 1; i < count; ++i) candidates.push_back(samples.largest() * i / count);
    Ends ends;
    std::size_t end = 0;
    for (const double candidate : candidates) {
        while (samples.value(end) <= candidate) ++end;
        if (end > 0 && (ends.empty() || ends.back() < end)) ends.push_back(end);
    }
    ends.push_back(samples.size());
    return ends;
}

Ends exhaustive(const Samples& samples, bool in_turn) {
    Ends best;
    double least = 0;
    for (int count = 1; count <= most_buckets; ++count) {
        Ends ends = cut_at_candidates(samples, count);
        const std::vector<Group> groups = groups_of(samples, ends);
        const double cost = in_turn ? cost_in_turn(groups) : cost_by_chance(groups);
        if (best.empty() || cost < least) least = cost, best = std::move(ends);
    }
    return best;
}

// ---- greedy ----

// Of the samples from `first` to before `end`, cut before `cut`; `cut` == `end`: not cut.
double cost_of_cut(const Samples& samples, std::size_t first, std::size_t cut, std::size_t end,
                   bool in_turn) {
    const double all = samples.weight(first, end);
    const Group low{samples.value(cut - 1), samples.weight(first, cut) / all, samples.mean(first, cut)};
    if (cut == end) return low.size - low.mean;
    const Group high{samples.value(end - 1), samples.weight(cut, end) / all, samples.mean(cut, end)};
    const std::array groups{low, high};
    return in_turn ? cost_in_turn(groups) : cost_by_chance(groups);
}

Ends greedy(const Samples& samples, bool in_turn) {
    Ends ends;
    std::vector<std::pair<std::size_t, std::size_t>> parts{{0, samples.size()}};
    while (!parts.empty()) {
        const auto [first, end] = parts.back();
        parts.pop_back();
        std::size_t best = end;
        double least = cost_of_cut(samples, first, end, end, in_turn);
        for (std::size_t cut = end - 1; cut > first; --cut)
            if (const double cost = cost_of_cut(samples, first, cut, end, in_turn); cost < least)
                least = cost, best = cut;
        if (best == end) {
            ends.push_back(end);
        } else {
            parts.emplace_back(best, end);
            parts.emplace_back(first, best);
        }
    }
    return ends;
}

// ---- quantized ----

SizeBuckets quantized(const PeakHistogram& samples) {
    std::uint64_t all = 0;
    for (const PeakHistogram::Tasks& tasks : samples.buckets()) all += tasks.count;
    SizeBuckets buckets;
    auto at = samples.buckets().begin();
    std::uint64_t up_to = at->count;
    std::uint64_t before = 0;
    for (std::uint64_t part = 1; part <= most_buckets; ++part) {
        const std::uint64_t rank = part * all / most_buckets;
        if (rank == before) continue;
        while (up_to < rank) up_to += (++at)->count;
        if (buckets.empty() || buckets.back().size != at->end) buckets.push_back({at->end, 0});
        buckets.back().share += static_cast<double>(rank - before) / static_cast<double>(all);
        before = rank;
    }
    return buckets;
}

bool tries_in_turn(AllocationMode mode) {
    return mode == AllocationMode::det_greedy_bucketing || mode == AllocationMode::det_exhaustive_bucketing;
}

std::int64_t doubled(std::int64_t guess, std::int64_t least) {
    if (guess <= 0) return std::max<std::int64_t>(least, 0);
    while (guess < least && guess <= most_size) guess *= 2;
    return std::max(guess, least);
}

}  // namespace

SizeBuckets buckets_of(AllocationMode mode, const PeakHistogram& peaks) {
    if (peaks.empty()) return {};
    if (peaks.largest() <= 0) return {{0, 1}};
    if (mode == AllocationMode::quantized_bucketing) return quantized(peaks);
    const Samples samples(peaks);
    const bool by_greed =
        mode == AllocationMode::greedy_bucketing || mode == AllocationMode::det_greedy_bucketing;
    const Ends ends =
        by_greed ? greedy(samples, tries_in_turn(mode)) : exhaustive(samples, tries_in_turn(mode));
    const std::vector<Group> groups = groups_of(samples, ends);
    SizeBuckets buckets;
    for (std::size_t i = 0; i < ends.size(); ++i)
        buckets.push_back({peaks.buckets()[ends[i] - 1].end, groups[i].share});
    return buckets;
}

std::int64_t next_allocation(AllocationMode mode, const SizeBuckets& buckets, std::int64_t guess,
                             std::int64_t least, double draw) {
    auto at = std::ranges::lower_bound(buckets, least, {}, &SizeBucket::size);
    if (at == buckets.end()) return doubled(guess, least);
    if (tries_in_turn(mode)) return at->size;
    double left = draw * std::accumulate(at, buckets.end(), 0.0, [](double sum, const SizeBucket& bucket) {
                      return sum + bucket.share;
                  });
    while (std::next(at) != buckets.end() && at->share <= left) left -= (at++)->share;
    return at->size;
}

}  // namespace wq::engine::model

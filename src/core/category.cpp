#include "core/category.h"

#include <algorithm>
#include <utility>

namespace wq::core {

namespace {

Sizes cleaned(Sizes sizes) {
    for (const ResourceKind kind : resource_kinds) sizes.at(kind) = std::max(sizes.at(kind), unsaid);
    return sizes;
}

void raise_to(Sizes& largest, const Sizes& sizes) {
    for (const ResourceKind kind : resource_kinds)
        largest.at(kind) = std::max(largest.at(kind), sizes.at(kind));
}

}  // namespace

Sizes without_noise(Sizes measured) {
    Sizes sizes = cleaned(measured);
    if (sizes.cores >= 0 && sizes.cores % 1000 <= 100) sizes.cores -= sizes.cores % 1000;
    return sizes;
}

Category::Category(std::string name, AllocationMode mode, std::uint32_t steady_tasks)
    : name_(std::move(name)), mode_(mode), steady_tasks_(steady_tasks) {
    for (const ResourceKind kind : resource_kinds) peaks_.at(kind) = PeakHistogram(bucket_of(kind).width);
}

void Category::set_max(const Sizes& sizes) {
    max_ = cleaned(sizes);
}

void Category::set_min(const Sizes& sizes) {
    min_ = cleaned(sizes);
}

void Category::set_first(const Sizes& guess) {
    first_ = cleaned(guess);
}

void Category::set_mode(AllocationMode mode) {
    mode_ = mode;
    compute();
}

void Category::set_max_concurrent(std::int64_t tasks) {
    max_concurrent_ = std::max<std::int64_t>(tasks, -1);
}

void Category::set_steady_tasks(std::uint32_t tasks) {
    steady_tasks_ = tasks;
    compute();
}

void Category::set_automatic(ResourceKind kind, bool automatic) {
    automatic_.at(kind) = automatic;
}

void Category::submitted(const Sizes& said) {
    raise_to(largest_said_, said);
}

// What is not sized automatically begins no collection anew.
void Category::completed(const Sizes& measured, Duration wall) {
    const Sizes sizes = without_noise(measured);
    bool new_largest = false;
    for (const ResourceKind kind : resource_kinds) {
        if (sizes.at(kind) < 0) continue;
        PeakHistogram& peaks = peaks_.at(kind);
        const bool beyond =
            peaks.empty() || sizes.at(kind) > round_up(peaks.largest(), bucket_of(kind).width);
        new_largest = new_largest || (beyond && automatic_.at(kind));
        peaks.add(sizes.at(kind), wall);
    }
    ++completions_;
    since_new_largest_ = new_largest ? 0 : since_new_largest_ + 1;
    if (completions_ % std::max(steady_tasks_, 1U) == 0) compute();
}

void Category::exhausted(const Sizes& measured, const PerResource<bool>& limits) {
    const Sizes sizes = without_noise(measured);
    for (const ResourceKind kind : resource_kinds)
        if (limits.at(kind) || limits == PerResource<bool>{})
            largest_exhausted_.at(kind) = std::max(largest_exhausted_.at(kind), sizes.at(kind));
}

bool Category::has_room(std::uint64_t running) const {
    return max_concurrent_ < 0 || running < static_cast<std::uint64_t>(max_concurrent_);
}

void Category::compute() {
    for (const ResourceKind kind : resource_kinds)
        computed_.at(kind) = first_allocation(mode_, peaks_.at(kind), bucket_of(kind), {});
}

}  // namespace wq::core

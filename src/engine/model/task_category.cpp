#include "engine/model/task_category.h"

#include <algorithm>
#include <string>
#include <utility>

namespace wq::engine::model {

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
    for (const ResourceKind kind : resource_kinds) {
        const std::int64_t width = bucket_of(kind).width;
        peaks_.at(kind) = PeakHistogram(width);
        samples_.at(kind) = PeakHistogram(width == 1000 ? width : 1);  // whole cores and GPUs, single MB
    }
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
    if (is_bucketing(mode_)) bucket();
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

// A new peak restarts the collection only for resources that are sized automatically.
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
    if (is_bucketing(mode_)) add_sample(sizes);
}

// Beyond a hundred samples, the buckets are computed once for each percent more, so that their cost for each
// task does not grow.
void Category::add_sample(const Sizes& peaks) {
    ++sampled_;
    const std::chrono::microseconds weight(sampled_);
    for (const ResourceKind kind : resource_kinds)
        if (peaks.at(kind) >= 0) samples_.at(kind).add(peaks.at(kind), weight);
    if (sampled_ > bucketed_ + bucketed_ / 100) bucket();
}

void Category::bucket() {
    if (sampled_ < samples_to_bucket) return;
    bucketed_ = sampled_;
    for (const ResourceKind kind : resource_kinds) buckets_.at(kind) = buckets_of(mode_, samples_.at(kind));
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

// What tasks of a category are given.

namespace {

// Whether an attempt that exceeded its limits exceeded this one.
bool is_exceeded(const PerResource<bool>& limits, ResourceKind kind) {
    return limits.at(kind) || limits == PerResource<bool>{};
}

}  // namespace

// Work Queue gives GPUs only to tasks and categories that name them.
std::int64_t Category::maximum_size(ResourceKind kind) const {
    if (max_.at(kind) >= 0) return max_.at(kind);
    if (mode_ == AllocationMode::fixed) return unsaid;
    if (automatic_.at(kind)) return whole_worker;
    return kind == ResourceKind::gpus ? std::max<std::int64_t>(min_.at(kind), 0) : unsaid;
}

std::int64_t Category::collecting_size(ResourceKind kind) const {
    if (!sizes_by_itself(kind) || first_.at(kind) < 0) return maximum_size(kind);
    return bounded(first_.at(kind), {min_.at(kind), max_.at(kind), unsaid});
}

// Changes with each sample; the same samples give the same.
double Category::draw(ResourceKind kind) const {
    std::uint64_t mixed =
        (sampled_ * resource_kinds.size() + static_cast<std::uint64_t>(kind) + 1) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53;
}

std::int64_t Category::bucketed_size(ResourceKind kind, std::int64_t least,
                                     std::int64_t largest_worker) const {
    const std::int64_t guess = first_.at(kind) < 0 ? usual_guess(kind) : first_.at(kind);
    const std::int64_t size =
        std::max(next_allocation(mode_, buckets_.at(kind), guess, least, draw(kind)), bucket_of(kind).least);
    return bounded(size, {std::max(min_.at(kind), least), max_.at(kind), largest_worker});
}

std::int64_t Category::first_size(ResourceKind kind, std::int64_t largest_worker) const {
    if (!sizes_by_itself(kind) || !steady() || computed_.at(kind) < 0) return collecting_size(kind);
    return bounded(computed_.at(kind), {min_.at(kind), max_.at(kind), largest_worker});
}

template <class SizeOf>
CategoryRequest Category::request(const Sizes& said, SizeOf&& size_of) const {
    CategoryRequest request;
    for (const ResourceKind kind : resource_kinds) {
        std::int64_t& size = request.sizes.at(kind);
        size = said.at(kind) >= 0 ? said.at(kind) : size_of(kind);
        if (size < 0) request.at_least.at(kind) = min_.at(kind);
    }
    return request;
}

CategoryRequest Category::first_try(const Sizes& said, const Sizes& largest_worker) const {
    return request(said, [&](ResourceKind kind) { return first_size(kind, largest_worker.at(kind)); });
}

CategoryRequest Category::collecting_try(const Sizes& said) const {
    return request(said, [&](ResourceKind kind) { return collecting_size(kind); });
}

CategoryRequest Category::next_bucket(const Sizes& said, const Sizes& measured,
                                      const Sizes& largest_worker) const {
    return request(said, [&](ResourceKind kind) {
        return automatic_.at(kind) ? bucketed_size(kind, measured.at(kind), largest_worker.at(kind))
                                   : maximum_size(kind);
    });
}

CategoryRequest Category::at_maximum(const Sizes& said, const Sizes& measured) const {
    CategoryRequest most = request(said, [&](ResourceKind kind) { return maximum_size(kind); });
    const Sizes sizes = without_noise(measured);
    for (const ResourceKind kind : resource_kinds)
        if (most.sizes.at(kind) == whole_worker)
            most.at_least.at(kind) = std::max(most.at_least.at(kind), sizes.at(kind));
    return most;
}

// In fixed mode the maximum acts like the task's own request, so the task may get more like any other.
Sizes Category::most_given(const Sizes& said) const {
    Sizes most;
    if (mode_ == AllocationMode::fixed) return most;
    for (const ResourceKind kind : resource_kinds)
        if (said.at(kind) < 0) most.at(kind) = max_.at(kind);
    return most;
}

AfterExhaustion Category::after_exhaustion(const Sizes& said, const Sizes& measured,
                                           const PerResource<bool>& limits, Try tried,
                                           const Sizes& given) const {
    if (mode_ == AllocationMode::fixed) return AfterExhaustion::fail;
    const Sizes sizes = without_noise(measured);
    bool more_allowed = false;
    bool larger_bucket = false;
    for (const ResourceKind kind : resource_kinds) {
        if (!is_exceeded(limits, kind)) continue;
        const std::int64_t most = said.at(kind) >= 0 ? said.at(kind) : max_.at(kind);
        if (most >= 0 && sizes.at(kind) > most) return AfterExhaustion::fail;
        more_allowed = more_allowed || (limits.at(kind) && most < 0 && automatic_.at(kind));
        const bool grows = most < 0 || (said.at(kind) < 0 && given.at(kind) < most);
        larger_bucket =
            larger_bucket || (is_bucketing(mode_) && limits.at(kind) && automatic_.at(kind) && grows);
    }
    if (tried == Try::first || larger_bucket) return AfterExhaustion::at_maximum;
    return more_allowed ? AfterExhaustion::larger_worker : AfterExhaustion::fail;
}

// What people are shown of a category.

namespace {

// Drops trailing zeros.
std::string from_thousandths(std::int64_t amount) {
    std::string text = std::to_string(amount / 1000);
    if (amount % 1000 == 0) return text;
    std::string decimals = std::to_string(1000 + amount % 1000).substr(1);
    while (decimals.ends_with('0')) decimals.pop_back();
    return text + "." + decimals;
}

}  // namespace

// The task's own request is a maximum only if no task was seen to use more.
Largest Category::largest(ResourceKind kind) const {
    using By = Largest::By;
    if (max_.at(kind) >= 0) return {By::user, max_.at(kind)};
    const Largest said{By::user, largest_said_.at(kind)};
    const Largest peak{By::peak, peaks_.at(kind).largest()};
    const Largest exhausted{By::exhaustion, largest_exhausted_.at(kind)};
    Largest most;
    for (const Largest& known : {said, peak, exhausted})
        if (known.size > most.size) most = known;
    return most;
}

std::string describe(const Largest& largest, ResourceKind kind) {
    if (largest.by == Largest::By::nothing) return "na";
    const bool counted = kind == ResourceKind::cores || kind == ResourceKind::gpus;
    const std::string size = counted ? from_thousandths(largest.size) : std::to_string(largest.size);
    switch (largest.by) {
        case Largest::By::peak:
            return "~" + size;
        case Largest::By::exhaustion:
            return ">" + size;
        default:
            return size;
    }
}

}  // namespace wq::engine::model

// What tasks of a category are given.
#include <algorithm>

#include "core/category.h"

namespace wq::core {

namespace {

// Whether a try that took more of these than it was given did so of this one.
bool is_exceeded(const PerResource<bool>& limits, ResourceKind kind) {
    return limits.at(kind) || limits == PerResource<bool>{};
}

}  // namespace

// Work Queue gives no GPU to whom nobody says one.
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

CategoryRequest Category::at_maximum(const Sizes& said, const Sizes& measured) const {
    CategoryRequest most = request(said, [&](ResourceKind kind) { return maximum_size(kind); });
    const Sizes sizes = without_noise(measured);
    for (const ResourceKind kind : resource_kinds)
        if (most.sizes.at(kind) == whole_worker)
            most.at_least.at(kind) = std::max(most.at_least.at(kind), sizes.at(kind));
    return most;
}

// In the fixed mode the maximum is as if the task had said it, and it may get more like any other.
Sizes Category::most_given(const Sizes& said) const {
    Sizes most;
    if (mode_ == AllocationMode::fixed) return most;
    for (const ResourceKind kind : resource_kinds)
        if (said.at(kind) < 0) most.at(kind) = max_.at(kind);
    return most;
}

AfterExhaustion Category::after_exhaustion(const Sizes& said, const Sizes& measured,
                                           const PerResource<bool>& limits, Try tried) const {
    if (mode_ == AllocationMode::fixed) return AfterExhaustion::fail;
    const Sizes sizes = without_noise(measured);
    bool more_allowed = false;
    for (const ResourceKind kind : resource_kinds) {
        if (!is_exceeded(limits, kind)) continue;
        const std::int64_t most = said.at(kind) >= 0 ? said.at(kind) : max_.at(kind);
        if (most >= 0 && sizes.at(kind) > most) return AfterExhaustion::fail;
        more_allowed = more_allowed || (limits.at(kind) && most < 0 && automatic_.at(kind));
    }
    if (tried == Try::first) return AfterExhaustion::at_maximum;
    return more_allowed ? AfterExhaustion::larger_worker : AfterExhaustion::fail;
}

}  // namespace wq::core

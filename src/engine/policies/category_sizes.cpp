#include "engine/policies/category_sizes.h"

#include <algorithm>
#include <utility>

#include "engine/model/outcome.h"

namespace wq::engine::policies {

namespace {

Sizes sizes_of(const Needs& needs) {
    const auto size = [](Count count) { return count.thousandths() / (count < 0 ? 1000 : 1); };
    return {size(needs.cores), needs.memory_mb, needs.disk_mb, size(needs.gpus)};
}

Sizes sizes_of(const Resources& given) {
    return {given.cores.thousandths(), given.memory_mb, given.disk_mb, given.gpus.thousandths()};
}

Needs needs_of(const Sizes& sizes) {
    const auto count = [](std::int64_t size) { return size < 0 ? Count(size) : Count::of_thousandths(size); };
    return {count(sizes.cores), sizes.memory_mb, sizes.disk_mb, count(sizes.gpus)};
}

// Which limits the task exceeded. Only memory can be noticed without measuring.
PerResource<bool> limits_of(const Outcome& outcome) {
    PerResource<bool> limits;
    if (outcome.measured)
        for (const ResourceKind kind : resource_kinds)
            limits.at(kind) = outcome.measured->exceeded.at(kind) >= 0;
    if (outcome.ending == Ending::out_of_memory) limits.at(ResourceKind::memory) = true;
    return limits;
}

// The usage of a call on a worker thread cannot be separated from the worker's own usage. Such a call counts
// as using nothing, so it gets the minimum.
constexpr Sizes taken_on_a_thread{.cores = 0, .memory_mb = 0, .disk_mb = 0};

Sizes sampled_peaks(const Outcome& outcome) {
    Sizes peaks = peaks_of(outcome.measured->usage);
    peaks.cores = busy_cores(outcome);
    return peaks;
}

Ask ask_for(const CategoryRequest& request) {
    return Ask(needs_of(request.sizes), needs_of(request.at_least));
}

// Rounds amounts down to their leading six bits, so that there are few amounts and thus few shapes.
std::int64_t coarse(std::int64_t amount) {
    std::int64_t step = 1;
    while (amount / step >= 64) step *= 2;
    return amount - amount % step;
}

}  // namespace

void CategorySizes::on(const CategorySet& event) {
    Category& category = categories_[event.category].category;
    if (event.max) category.set_max(*event.max);
    if (event.min) category.set_min(*event.min);
    if (event.first) category.set_first(*event.first);
    if (event.mode) category.set_mode(*event.mode);
    if (event.max_concurrent) category.set_max_concurrent(*event.max_concurrent);
    if (event.steady_tasks) category.set_steady_tasks(*event.steady_tasks);
    if (event.automatic) category.set_automatic(event.automatic->first, event.automatic->second);
    for (const CategorySample& sample : event.samples) category.completed(sample.peaks, sample.wall);
    const auto list = [&](std::vector<CategoryId>& ids, bool in) {
        std::erase(ids, event.category);
        if (in) ids.push_back(event.category);
    };
    list(categories_.limited, category.max_concurrent() >= 0);
    list(automatic_, category.mode() != AllocationMode::fixed);
    ask_anew(event.category);
    // Ranks do not know how many tasks may run at once, and allocate what the batch was sealed with.
    if (!state_.batch || ledger_.shape(state_.batch->shape).category != event.category) return;
    if (category.max_concurrent() >= 0 || state_.asked(state_.batch->shape) != state_.batch->ask)
        revoke_batch();
}

// Computed sizes are limited by the largest amount of each resource. No single worker may have all of these.
CategoryRequest CategorySizes::request_of(const Shape& shape, const Category& category) const {
    const Sizes said = sizes_of(shape.needs);
    const Sizes least = sizes_of(shape.at_least);
    const bool no_worker = largest_ == Resources{};
    if (is_bucketing(category.mode())) {
        const CategoryRequest next =
            category.next_bucket(said, least, no_worker ? Sizes{} : sizes_of(largest_));
        const bool fits = no_worker || pool_.fits_somewhere(ask_for(next), shape);
        return fits ? next : category.at_maximum(said, least);
    }
    if (shape.at_maximum) return category.at_maximum(said, least);
    const CategoryRequest computed = category.first_try(said, sizes_of(largest_));
    const CategoryRequest collecting = category.collecting_try(said);
    if (computed == collecting || pool_.fits_somewhere(ask_for(computed), shape)) return computed;
    return pool_.fits_somewhere(ask_for(collecting), shape) ? collecting : computed;
}

// A remote task takes a coprocess, which its worker has sized, and nothing else.
Ask CategorySizes::ask_of(const Shape& shape, const Category& category) const {
    if (shape.needs.remote()) return Ask(Needs{.coprocesses = shape.needs.coprocesses});
    Ask ask = ask_for(request_of(shape, category));
    ask.at_most = needs_of(category.most_given(sizes_of(shape.needs)));
    return ask;
}

void CategorySizes::shapes_added() {
    while (categories_.asks.size() < ledger_.shapes()) {
        const ShapeId id(static_cast<std::uint32_t>(categories_.asks.size()));
        const Shape& shape = ledger_.shape(id);
        CategoryState& state = categories_[shape.category];
        if (!shape.at_maximum && !shape.needs.remote()) state.category.submitted(sizes_of(shape.needs));
        state.shapes.push_back(id);
        categories_.asks.push_back(ask_of(shape, state.category));
    }
}

void CategorySizes::ask_again(const CategoryState& state) {
    for (const ShapeId shape : state.shapes)
        categories_.asks[shape.value()] = ask_of(ledger_.shape(shape), state.category);
    hooks_.asks_changed();
    awaken_all(state);
}

void CategorySizes::ask_anew(CategoryId id) {
    const CategoryState& state = categories_[id];
    ask_again(state);
    const Category& category = state.category;
    Shape says_nothing;
    says_nothing.category = id;
    act(CategoryChanged{id, category.mode(), category.max(), category.min(),
                        request_of(says_nothing, category).sizes});
}

bool CategorySizes::asks_otherwise(const CategoryState& state) const {
    return std::any_of(state.shapes.begin(), state.shapes.end(), [&](ShapeId shape) {
        return state_.asked(shape) != ask_of(ledger_.shape(shape), state.category);
    });
}

// Limits computed sizes to the workers that exist, so that no task waits for a larger one.
void CategorySizes::look_at_pool() {
    if (automatic_.empty() || state_.pool.version() == largest_of_) return;
    largest_of_ = state_.pool.version();
    const Resources largest = pool_.largest();
    const bool changed = std::exchange(largest_, largest) != largest;
    for (const CategoryId id : automatic_)
        if (changed || asks_otherwise(categories_[id])) ask_anew(id);
}

void CategorySizes::succeeded(TaskId task, const Outcome& outcome) {
    const Shape& shape = state_.shape_of(task);
    if (shape.needs.remote()) return;
    const CategoryId id = shape.category;
    const bool of_thread = (state_.options.monitoring.measures || shape.measured) && shape.unstoppable;
    if (!outcome.measured && !of_thread) return;
    const Sizes peaks = outcome.measured ? sampled_peaks(outcome) : taken_on_a_thread;
    Category& category = categories_[id].category;
    const bool steady = category.steady();
    const Sizes computed = category.computed();
    const std::uint64_t bucketed = category.bucketed();
    category.completed(peaks, wall_time(outcome));
    if (category.mode() == AllocationMode::fixed) return;
    const bool changed = is_bucketing(category.mode())
                             ? category.bucketed() != bucketed
                             : category.steady() != steady || category.computed() != computed;
    if (changed) return ask_anew(id);
    if (is_bucketing(category.mode()) && category.steady()) ask_again(categories_[id]);
}

bool CategorySizes::exhausted(TaskId task, Outcome& outcome) {
    if (state_.shape_of(task).needs.remote()) return false;
    if (std::optional<Shape> larger = asks_for_more(task, outcome)) {
        try_with_more(task, std::move(*larger), outcome);
        return true;
    }
    // A task that requests memory and needs more fails at once. A task without a request got what its worker
    // could give; another worker may have more memory, or fewer neighbours. Without a limit on tries it would
    // be retried forever.
    if (outcome.ending == Ending::out_of_memory && ledger_.max_tries(task) > 0 &&
        state_.asked(ledger_.shape_of(task)).needs.memory_mb < 0) {
        attempts_.try_again(task, TaskEvent::exhaust, outcome);
        return true;
    }
    outcome.reason += beyond_its_maximum(task, outcome);
    return false;
}

// The shape of its next try; nullopt if the task has failed.
std::optional<Shape> CategorySizes::asks_for_more(TaskId task, const Outcome& outcome) {
    Shape shape = state_.shape_of(task);
    Category& category = categories_[shape.category].category;
    const Sizes measured = outcome.measured ? peaks_of(outcome.measured->usage) : Sizes{};
    const PerResource<bool> limits = limits_of(outcome);
    category.exhausted(measured, limits);
    const Sizes given = sizes_of(ledger_.attempted(task).given);
    const auto after = category.after_exhaustion(sizes_of(shape.needs), measured, limits,
                                                 shape.at_maximum ? Try::at_maximum : Try::first, given);
    if (after == AfterExhaustion::fail) return std::nullopt;
    // Its allocation was too small, on any worker. If an amount is asked for, that is the limit: a shape for
    // each exceeded size would add nothing.
    Sizes least = sizes_of(shape.at_least);
    const Sizes said = sizes_of(shape.needs);
    const bool buckets = is_bucketing(category.mode());
    for (const ResourceKind kind : resource_kinds)
        if (limits.at(kind) && said.at(kind) < 0 && (buckets || category.max().at(kind) < 0))
            least.at(kind) = std::max(given.at(kind) + 1, coarse(measured.at(kind)));
    shape.at_maximum = true;
    shape.at_least = needs_of(least);
    return shape;
}

// If the pool is complete, no larger worker can join, and a retry would end the same way.
void CategorySizes::try_with_more(TaskId task, Shape larger, const Outcome& outcome) {
    const Ask ask = ask_of(larger, state_.category(larger.category));
    if (pool_.settled() && !pool_.fits_somewhere(ask, larger)) {
        Outcome told = outcome;
        told.reason += (told.reason.empty() ? "" : "; ") + ("no worker has " + model::describe(ask)) +
                       " for another try";
        return attempts_.fail(task, std::move(told));
    }
    ledger_.reshape(task, std::move(larger));
    shapes_added();
    // A smaller copy would count as the try with the maximum.
    if (!copy_has(ask, task)) attempts_.drop_copy(task, DroppedCopy::kill);
    attempts_.try_again(task, TaskEvent::exhaust, outcome);
}

// Whether its copy has all that `ask` would get on the copy's worker.
bool CategorySizes::copy_has(const Ask& ask, TaskId task) const {
    const Copy* const copy = state_.copies.find(task);
    if (copy == nullptr) return false;
    const Resources& whole = workers_.find(copy->worker)->whole;
    return ever_fits(ask, whole) && allocate(ask, whole, state_.options.allocation).fits_in(copy->given);
}

// Why a task that got less than its category's maximum is not retried with the maximum; "" if it got the
// maximum, or used no more.
std::string CategorySizes::beyond_its_maximum(TaskId task, const Outcome& outcome) const {
    if (!outcome.measured) return {};
    const Shape& shape = state_.shape_of(task);
    const Category& category = state_.category(shape.category);
    const Sizes most = category.most_given(sizes_of(shape.needs));
    const Sizes given = sizes_of(ledger_.find_attempted(task)->given);
    const Sizes taken = peaks_of(outcome.measured->usage);
    Sizes maximum;
    for (const ResourceKind kind : resource_kinds)
        if (outcome.measured->exceeded.at(kind) >= 0 && given.at(kind) < most.at(kind) &&
            taken.at(kind) > most.at(kind))
            maximum.at(kind) = most.at(kind);
    if (maximum == Sizes{}) return {};
    return "; that is more than the maximum of its category, " + model::describe(needs_of(maximum));
}

std::int64_t CategorySizes::able_workers(CategoryId id) const {
    const Category* const category = categories_.find(id);
    if (category == nullptr) return static_cast<std::int64_t>(state_.connected_workers());
    Sizes largest;
    for (const ResourceKind kind : resource_kinds) largest.at(kind) = category->largest(kind).size;
    const Ask ask(needs_of(largest));
    return std::count_if(workers_.all().begin(), workers_.all().end(), [&](const auto& each) {
        return !each.second.disconnected() && ever_fits(ask, each.second.whole);
    });
}

void CategorySizes::awaken_all(const CategoryState& category) {
    for (const ShapeId shape : category.shapes)
        if (!ledger_.ready(shape).empty()) awaken(shape);
}

void CategorySizes::note_full() {
    run_is_full_ = !fit_.run_has_room();
    if (categories_.limited.empty()) return;
    full_.clear();
    for (const CategoryId id : categories_.limited) {
        const CategoryState& state = categories_[id];
        if (!state.shapes.empty() && !fit_.category_has_room(ledger_.shape(state.shapes.front())))
            full_.insert(id);
    }
}

void CategorySizes::awaken_those_with_room() {
    if (run_is_full_ && fit_.run_has_room())
        for (const CategoryState& all : categories_.known) awaken_all(all);
    if (full_.empty()) return;
    for (const CategoryId id : categories_.limited) {
        const CategoryState& state = categories_[id];
        if (full_.contains(id) && fit_.category_has_room(ledger_.shape(state.shapes.front())))
            awaken_all(state);
    }
}

}  // namespace wq::engine::policies

// What categories say of their tasks, and learn of them.
#include <algorithm>
#include <utility>

#include "core/reactor.h"
#include "core/wall_time.h"

namespace wq::core {

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

// Of memory, where nobody says more: only that is ever noticed without being measured.
PerResource<bool> limits_of(const Outcome& outcome) {
    PerResource<bool> limits;
    if (outcome.measured)
        for (const ResourceKind kind : resource_kinds)
            limits.at(kind) = outcome.measured->exceeded.at(kind) >= 0;
    if (outcome.ending == Ending::out_of_memory) limits.at(ResourceKind::memory) = true;
    return limits;
}

// Few amounts stand for all, so that few shapes do: of two with the same leading six bits, the lower.
std::int64_t coarse(std::int64_t amount) {
    std::int64_t step = 1;
    while (amount / step >= 64) step *= 2;
    return amount - amount % step;
}

}  // namespace

Reactor::CategoryState& Reactor::state_of(CategoryId category) {
    if (category.value() >= categories_.size()) categories_.resize(category.value() + 1);
    return categories_[category.value()];
}

const Category* Reactor::category(CategoryId category) const {
    return category.value() < categories_.size() ? &categories_[category.value()].category : nullptr;
}

void Reactor::on_event(const CategorySet& event, Now, Actions& actions) {
    Category& category = state_of(event.category).category;
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
    list(limited_, category.max_concurrent() >= 0);
    list(automatic_, category.mode() != AllocationMode::fixed);
    ask_anew(event.category, actions);
}

Ask Reactor::ask_of(const Shape& shape, const Category& category) const {
    const Sizes said = sizes_of(shape.needs);
    const CategoryRequest request = shape.at_maximum ? category.at_maximum(said, sizes_of(shape.at_least))
                                                     : category.first_try(said, sizes_of(largest_here_));
    return Ask(needs_of(request.sizes), needs_of(request.at_least));
}

void Reactor::note_shapes() {
    while (asked_.size() < ledger_.shapes()) {
        const ShapeId id(static_cast<std::uint32_t>(asked_.size()));
        const Shape& shape = ledger_.shape(id);
        CategoryState& state = state_of(shape.category);
        if (!shape.at_maximum) state.category.submitted(sizes_of(shape.needs));
        state.shapes.push_back(id);
        asked_.push_back(ask_of(shape, state.category));
    }
}

void Reactor::ask_anew(CategoryId id, Actions& actions) {
    CategoryState& state = state_of(id);
    for (const ShapeId shape : state.shapes)
        asked_[shape.value()] = ask_of(ledger_.shape(shape), state.category);
    check_fits_ = true;
    awaken(state);
    const Category& category = state.category;
    actions.push_back(CategoryChanged{id, category.mode(), category.max(), category.min(),
                                      category.first_try({}, sizes_of(largest_here_)).sizes});
}

// Nothing that was computed waits for a larger worker than there is.
void Reactor::ask_anew_of_automatic(Actions& actions) {
    if (automatic_.empty() || pool_version_ == largest_of_) return;
    largest_of_ = pool_version_;
    const Resources largest = largest_here();
    if (std::exchange(largest_here_, largest) == largest) return;
    for (const CategoryId id : automatic_) ask_anew(id, actions);
}

void Reactor::awaken(const CategoryState& state) {
    for (const ShapeId shape : state.shapes)
        if (!ledger_.ready(shape).empty()) awakened_.push_back(shape);
}

void Reactor::learn_sizes(TaskId task, const Outcome& outcome, Actions& actions) {
    if (!outcome.measured) return;
    const CategoryId id = ledger_.shape(ledger_.shape_of(task)).category;
    Category& category = state_of(id).category;
    const bool steady = category.steady();
    const Sizes computed = category.computed();
    Sizes peaks = peaks_of(outcome.measured->usage);
    peaks.cores = busy_cores(outcome);
    category.completed(peaks, wall_time(outcome));
    const bool changed = category.steady() != steady || category.computed() != computed;
    if (category.mode() != AllocationMode::fixed && changed) ask_anew(id, actions);
}

// Whether one that took more than it was given runs once more with more: it is of another shape then.
bool Reactor::asks_for_more(TaskId task, const Outcome& outcome) {
    Shape shape = ledger_.shape(ledger_.shape_of(task));
    Category& category = state_of(shape.category).category;
    const Sizes measured = outcome.measured ? peaks_of(outcome.measured->usage) : Sizes{};
    const PerResource<bool> limits = limits_of(outcome);
    category.exhausted(measured, limits);
    const auto after = category.after_exhaustion(sizes_of(shape.needs), measured, limits,
                                                 shape.at_maximum ? Try::at_maximum : Try::first);
    if (after == AfterExhaustion::fail) return false;
    // More than it had, where it had a whole worker.
    Sizes least = sizes_of(shape.at_least);
    const Sizes had = sizes_of(asked(ledger_.shape_of(task)).needs);
    const Sizes given = sizes_of(ledger_.attempted(task).given);
    for (const ResourceKind kind : resource_kinds)
        if (limits.at(kind) && had.at(kind) == whole_worker)
            least.at(kind) = std::max(given.at(kind) + 1, coarse(measured.at(kind)));
    shape.at_maximum = true;
    shape.at_least = needs_of(least);
    ledger_.reshape(task, std::move(shape));
    note_shapes();
    return true;
}

bool Reactor::has_room(const Shape& shape) const {
    if (limited_.empty()) return true;
    const Category& category = categories_[shape.category.value()].category;
    return category.max_concurrent() < 0 ||
           category.has_room(ledger_.count(shape.category, TaskState::leased) +
                             ledger_.count(shape.category, TaskState::sealed));
}

void Reactor::note_full() {
    for (const CategoryId id : limited_) {
        CategoryState& state = state_of(id);
        state.full = !state.shapes.empty() && !has_room(ledger_.shape(state.shapes.front()));
    }
}

void Reactor::awaken_those_with_room() {
    for (const CategoryId id : limited_) {
        CategoryState& state = state_of(id);
        if (state.full && has_room(ledger_.shape(state.shapes.front()))) awaken(state);
    }
}

Watch Reactor::watch_of(ShapeId id, const Resources& given) const {
    const Shape& shape = ledger_.shape(id);
    Watch watch;
    watch.measures = options_.monitoring.measures || shape.measured;
    if (options_.limits_memory && shape.needs.memory_mb > 0) watch.limits.memory_mb = shape.needs.memory_mb;
    if (!options_.monitoring.enforces) return watch;
    if (given.cores > 0) watch.limits.cores = given.cores.thousandths();
    if (given.memory_mb > 0) watch.limits.memory_mb = given.memory_mb;
    if (given.disk_mb > 0) watch.limits.disk_mb = given.disk_mb;
    return watch;
}

// With the largest of what its tasks ask for.
std::int64_t Reactor::able_workers(CategoryId id) const {
    const Category* const known = category(id);
    if (known == nullptr) return static_cast<std::int64_t>(workers_.size() - workers_.away());
    Sizes largest;
    for (const ResourceKind kind : resource_kinds) largest.at(kind) = known->largest(kind).size;
    const Ask ask(needs_of(largest));
    return std::count_if(workers_.all().begin(), workers_.all().end(), [&](const auto& each) {
        return !each.second.away() && ever_fits(ask, each.second.whole);
    });
}

}  // namespace wq::core

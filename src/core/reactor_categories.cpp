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

Ask ask_for(const CategoryRequest& request) {
    return Ask(needs_of(request.sizes), needs_of(request.at_least));
}

// Few amounts stand for all, so that few shapes do: of two with the same leading six bits, the lower.
std::int64_t coarse(std::int64_t amount) {
    std::int64_t step = 1;
    while (amount / step >= 64) step *= 2;
    return amount - amount % step;
}

// Of memory, the bound that somebody said; what is only measured is held to no category's.
std::int64_t memory_bound(const Shape& shape, const Category& category, const Monitoring& monitoring) {
    if (shape.needs.memory_mb > 0) return shape.needs.memory_mb;
    const bool only_measured = monitoring.measures && !monitoring.enforces;
    return only_measured ? unsaid : category.max().memory_mb;
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
    // Ranks know nothing of how many may run at once, and reckon by what was sealed.
    const bool sealed = batch_ && ledger_.shape(batch_->shape).category == event.category;
    if (sealed && (category.max_concurrent() >= 0 || asked(batch_->shape) != batch_->ask)) revoke(actions);
}

// What is computed is bounded by the largest of each resource, which no single worker may have together.
CategoryRequest Reactor::request_of(const Shape& shape, const Category& category) const {
    const Sizes said = sizes_of(shape.needs);
    if (shape.at_maximum) return category.at_maximum(said, sizes_of(shape.at_least));
    const CategoryRequest computed = category.first_try(said, sizes_of(largest_here_));
    const CategoryRequest collecting = category.collecting_try(said);
    if (computed == collecting || fits_somewhere(ask_for(computed), shape)) return computed;
    return fits_somewhere(ask_for(collecting), shape) ? collecting : computed;
}

Ask Reactor::ask_of(const Shape& shape, const Category& category) const {
    Ask ask = ask_for(request_of(shape, category));
    ask.at_most = needs_of(category.most_given(sizes_of(shape.needs)));
    return ask;
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
    Shape says_nothing;
    says_nothing.category = id;
    actions.push_back(CategoryChanged{id, category.mode(), category.max(), category.min(),
                                      request_of(says_nothing, category).sizes});
}

bool Reactor::asks_otherwise(const CategoryState& state) const {
    return std::any_of(state.shapes.begin(), state.shapes.end(), [&](ShapeId shape) {
        return asked(shape) != ask_of(ledger_.shape(shape), state.category);
    });
}

// Nothing that was computed waits for a larger worker than there is.
void Reactor::ask_anew_of_automatic(Actions& actions) {
    if (automatic_.empty() || pool_version_ == largest_of_) return;
    largest_of_ = pool_version_;
    const Resources largest = largest_here();
    const bool changed = std::exchange(largest_here_, largest) != largest;
    for (const CategoryId id : automatic_)
        if (changed || asks_otherwise(state_of(id))) ask_anew(id, actions);
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

// Of which shape one that took more than it was given runs once more; none: it has failed.
std::optional<Shape> Reactor::asks_for_more(TaskId task, const Outcome& outcome) {
    Shape shape = ledger_.shape(ledger_.shape_of(task));
    Category& category = state_of(shape.category).category;
    const Sizes measured = outcome.measured ? peaks_of(outcome.measured->usage) : Sizes{};
    const PerResource<bool> limits = limits_of(outcome);
    category.exhausted(measured, limits);
    const auto after = category.after_exhaustion(sizes_of(shape.needs), measured, limits,
                                                 shape.at_maximum ? Try::at_maximum : Try::first);
    if (after == AfterExhaustion::fail) return std::nullopt;
    // What it was given was too little, wherever it runs next. Where an amount is asked for, that is it: a
    // shape for each size that was exceeded would say no more.
    Sizes least = sizes_of(shape.at_least);
    const Sizes given = sizes_of(ledger_.attempted(task).given);
    const Sizes said = sizes_of(shape.needs);
    for (const ResourceKind kind : resource_kinds)
        if (limits.at(kind) && said.at(kind) < 0 && category.max().at(kind) < 0)
            least.at(kind) = std::max(given.at(kind) + 1, coarse(measured.at(kind)));
    shape.at_maximum = true;
    shape.at_least = needs_of(least);
    return shape;
}

// Why one that was given less than the maximum of its category does not run again with that; "": it was given
// that, or took no more.
std::string Reactor::beyond_its_maximum(TaskId task, const Outcome& outcome) const {
    if (!outcome.measured) return {};
    const Shape& shape = ledger_.shape(ledger_.shape_of(task));
    const Category& category = categories_[shape.category.value()].category;
    const Sizes most = category.most_given(sizes_of(shape.needs));
    const Sizes given = sizes_of(ledger_.find_attempted(task)->given);
    const Sizes taken = peaks_of(outcome.measured->usage);
    Sizes maximum;
    for (const ResourceKind kind : resource_kinds)
        if (outcome.measured->exceeded.at(kind) >= 0 && given.at(kind) < most.at(kind) &&
            taken.at(kind) > most.at(kind))
            maximum.at(kind) = most.at(kind);
    if (maximum == Sizes{}) return {};
    return "; that is more than the maximum of its category, " + describe(needs_of(maximum));
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
    const Category& category = categories_[shape.category.value()].category;
    const std::int64_t memory_mb = memory_bound(shape, category, options_.monitoring);
    if (options_.limits_memory && memory_mb > 0) watch.limits.memory_mb = memory_mb;
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

#include "manager/run/list_categories.h"

#include <algorithm>

#include "base/units.h"

namespace wq::manager::run {

namespace {

engine::model::Sizes sizes_of(const engine::tasklist::CategoryResources& said) {
    const auto thousandths = [](const std::optional<Count>& count) {
        return count ? count->thousandths() : engine::model::unsaid;
    };
    return {thousandths(said.cores), said.memory_mb.value_or(engine::model::unsaid),
            said.disk_mb.value_or(engine::model::unsaid), thousandths(said.gpus)};
}

bool is_for_gpus(const engine::tasklist::CategoryResources& max,
                 const engine::tasklist::CategoryResources& min) {
    return max.gpus.value_or(0) > 0 || min.gpus.value_or(0) > 0;
}

// A line that requests GPUs but no cores needs no core.
engine::model::PerResource<bool> said_of(const engine::tasklist::CategoryResources& max,
                                         const engine::tasklist::CategoryResources& min,
                                         engine::model::AllocationMode mode) {
    const bool fixed = mode == engine::model::AllocationMode::fixed;
    return {{max.cores || min.cores || is_for_gpus(max, min) || !fixed,
             max.memory_mb || min.memory_mb || !fixed, max.disk_mb || min.disk_mb || !fixed,
             max.gpus || min.gpus}};
}

void add(engine::model::PerResource<bool>& all, const engine::model::PerResource<bool>& more) {
    for (const engine::model::ResourceKind kind : engine::model::resource_kinds)
        all.at(kind) = all.at(kind) || more.at(kind);
}

}  // namespace

void ListCategories::foresee(Foreseen& all, const engine::tasklist::CategoryLine& line) {
    add(all[line.name], said_of(line.max.value_or(engine::tasklist::CategoryResources{}),
                                line.min.value_or(engine::tasklist::CategoryResources{}),
                                line.mode.value_or(engine::model::AllocationMode::fixed)));
}

// Uses the run's defaults if neither task nor category specifies a value, raised to the category's minimum.
engine::model::Sizes ListCategories::max_of(const Told& told, const engine::model::Needs& defaults) {
    engine::model::Sizes max = sizes_of(told.max);
    const engine::model::Sizes min = sizes_of(told.min);
    const bool fixed = told.mode == engine::model::AllocationMode::fixed;
    const bool one_core = fixed && !is_for_gpus(told.max, told.min);
    const engine::model::Sizes run{defaults.cores >= 0 ? defaults.cores.thousandths()
                                   : one_core          ? 1000
                                                       : engine::model::unsaid,
                                   defaults.memory_mb, defaults.disk_mb,
                                   defaults.gpus >= 0 ? defaults.gpus.thousandths()
                                   : fixed            ? min.gpus
                                                      : engine::model::unsaid};
    for (const engine::model::ResourceKind kind : engine::model::resource_kinds)
        if (told.open.at(kind) && max.at(kind) < 0 && run.at(kind) >= 0)
            max.at(kind) = std::max(run.at(kind), min.at(kind));
    return max;
}

void ListCategories::apply_line(const engine::tasklist::CategorySettings& line,
                                const engine::model::Needs& defaults, manager::Manager& manager,
                                engine::model::Now now) {
    const engine::tasklist::CategoryLine& said = line.category;
    Told& told = told_[said.name];
    if (told.line == 0) told.line = line.line;
    if (said.max) told.max = *said.max;
    if (said.min) told.min = *said.min;
    if (said.first) told.first = line.line;
    if (said.mode) told.mode = *said.mode;
    add(told.open, said_of(told.max, told.min, told.mode));
    const bool fixed = told.mode == engine::model::AllocationMode::fixed;
    engine::model::CategorySet set;
    if (said.max || said.min || said.mode) set.max = max_of(told, defaults);
    if (said.min) set.min = sizes_of(*said.min);
    if (said.first) set.first = sizes_of(*said.first);
    if (said.mode) set.mode = *said.mode;
    set.max_concurrent = said.concurrent;
    manager.set_category(said.name, set, now);
    if (fixed || measured_ || std::exchange(warned_, true)) return;
    manager.say(place(line.line) + "no measurements: the mode of " + quote_for_message(said.name) +
                " needs them; use --monitor");
}

engine::model::PerResource<bool> ListCategories::of_task(const std::optional<std::string>& category,
                                                         const engine::model::Needs& defaults,
                                                         manager::Manager& manager, engine::model::Now now) {
    if (told_.empty() && foreseen_.empty()) return {};
    static const std::string unnamed = "default";
    const std::string& name = category ? *category : unnamed;
    auto told = told_.find(name);
    if (told == told_.end()) {
        const auto foreseen = foreseen_.find(name);
        if (foreseen == foreseen_.end()) return {};
        told = told_.try_emplace(name).first;
        told->second.open = foreseen->second;
        engine::model::CategorySet set;
        set.max = max_of(told->second, defaults);
        manager.set_category(name, set, now);
    }
    told->second.has_tasks = true;
    return told->second.open;
}

void ListCategories::end(manager::Manager& manager) const {
    for (const auto& [name, told] : told_) {
        if (!told.has_tasks)
            manager.say(place(told.line) + "no task has the category " + quote_for_message(name));
        if (told.first != 0 && told.mode == engine::model::AllocationMode::fixed)
            manager.say(place(told.first) + "'first' has no effect on the category " +
                        quote_for_message(name) +
                        " in mode fixed: add another mode, such as mode=max-throughput");
    }
}

}  // namespace wq::manager::run

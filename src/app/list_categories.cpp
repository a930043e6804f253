#include "app/list_categories.h"

#include "base/units.h"

namespace wq::app {

namespace {

core::Sizes sizes_of(const taskfile::CategoryResources& said) {
    const auto thousandths = [](const std::optional<Count>& count) {
        return count ? count->thousandths() : core::unsaid;
    };
    return {thousandths(said.cores), said.memory_mb.value_or(core::unsaid),
            said.disk_mb.value_or(core::unsaid), thousandths(said.gpus)};
}

core::AllocationMode mode_of(taskfile::CategoryMode mode) {
    switch (mode) {
        case taskfile::CategoryMode::max:
            return core::AllocationMode::max;
        case taskfile::CategoryMode::min_waste:
            return core::AllocationMode::min_waste;
        case taskfile::CategoryMode::max_throughput:
            return core::AllocationMode::max_throughput;
        case taskfile::CategoryMode::fixed:
            break;
    }
    return core::AllocationMode::fixed;
}

}  // namespace

void ListCategories::tell(const taskfile::CategorySettings& line, const core::Needs& defaults,
                          Manager& manager, core::Now now) {
    const taskfile::CategoryLine& said = line.category;
    Told& told = told_[said.name];
    if (told.line == 0) told.line = line.line;
    if (said.max) told.max = *said.max;
    if (said.mode) told.mode = *said.mode;
    const bool fixed = told.mode == taskfile::CategoryMode::fixed;
    core::CategorySet set;
    if (said.max || said.mode) {
        core::Sizes max = sizes_of(told.max);
        const bool for_gpus = max.gpus > 0;  // a line that asks for them and says no cores needs none
        const core::Sizes run{defaults.cores >= 0  ? defaults.cores.thousandths()
                              : fixed && !for_gpus ? 1000
                                                   : core::unsaid,
                              defaults.memory_mb, defaults.disk_mb,
                              defaults.gpus >= 0 ? defaults.gpus.thousandths() : core::unsaid};
        for (const core::ResourceKind kind : core::resource_kinds) {
            bool& open = told.open.at(kind);
            open = open || max.at(kind) >= 0 || (!fixed && kind != core::ResourceKind::gpus) ||
                   (for_gpus && kind == core::ResourceKind::cores);
            if (open && max.at(kind) < 0) max.at(kind) = run.at(kind);
        }
        set.max = max;
    }
    if (said.min) set.min = sizes_of(*said.min);
    if (said.first) set.first = sizes_of(*said.first);
    if (said.mode) set.mode = mode_of(*said.mode);
    set.max_concurrent = said.concurrent;
    manager.set_category(said.name, set, now);
    if (fixed || measured_ || std::exchange(warned_, true)) return;
    manager.say(place(line.line) + "nothing is measured that the mode of " + quote_for_message(said.name) +
                " could learn from; --monitor has it measured");
}

core::PerResource<bool> ListCategories::of_task(const std::optional<std::string>& category) {
    if (told_.empty()) return {};
    static const std::string unnamed = "default";
    const auto told = told_.find(category ? *category : unnamed);
    if (told == told_.end()) return {};
    told->second.has_tasks = true;
    return told->second.open;
}

void ListCategories::end(Manager& manager) const {
    for (const auto& [name, told] : told_)
        if (!told.has_tasks)
            manager.say(place(told.line) + "no task is of category " + quote_for_message(name));
}

}  // namespace wq::app

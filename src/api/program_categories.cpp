#include "api/program_categories.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace wq::api {

ProgramCategories::Known& ProgramCategories::known(const std::string& name, manager::Manager& manager,
                                                   engine::model::Now now) {
    const auto [found, added] = known_.try_emplace(name);
    Known& category = found->second;
    if (!added) return category;
    category.id = manager.category(name);
    category.automatic = of_others_.mode.value_or(engine::model::AllocationMode::fixed) !=
                         engine::model::AllocationMode::fixed;
    if (of_others_.mode || of_others_.steady_tasks) manager.set_category(name, of_others_, now);
    return category;
}

// Without this warning nobody would notice: the tasks run, but each on a whole worker.
void ProgramCategories::warn(const std::string& name, Known& category) {
    if (measures_ || !category.automatic || !category.has_tasks || category.warned) return;
    category.warned = true;
    say_("category " + quote_for_message(name) +
         ": its mode needs measurements, so tasks get the maximum or whole workers; "
         "call enable_monitoring()");
}

// A limit of 0 is a way to hold tasks back for a while, but who takes it for "no limit" would wait for ever.
void ProgramCategories::warn_of_none(const std::string& name, Known& category) {
    if (std::exchange(category.told_of_none, true)) return;
    say_("category " + quote_for_message(name) +
         ": its tasks wait, because at most 0 may run at once; raise this, or use -1 for no "
         "limit");
}

CategoryId ProgramCategories::of_task(const std::string& name, bool measured, manager::Manager& manager,
                                      engine::model::Now now) {
    Known& category = known(name, manager, now);
    category.has_tasks = category.has_tasks || !measured;
    warn(name, category);
    return category.id;
}

bool ProgramCategories::speaks(CategoryId id, const manager::Manager& manager) const {
    const engine::model::Category* const category = manager.reactor().category(id);
    return category != nullptr && (category->max() != engine::model::Sizes{} ||
                                   category->mode() != engine::model::AllocationMode::fixed);
}

void ProgramCategories::set(const std::string& name, engine::model::CategorySet what,
                            manager::Manager& manager, engine::model::Now now) {
    Known& category = known(name, manager, now);
    if (what.mode) category.automatic = *what.mode != engine::model::AllocationMode::fixed;
    if (what.max_concurrent == 0) warn_of_none(name, category);
    manager.set_category(name, std::move(what), now);
    warn(name, category);
}

void ProgramCategories::set_steady_tasks(std::uint32_t tasks, manager::Manager& manager,
                                         engine::model::Now now) {
    of_others_.steady_tasks = tasks;
    engine::model::CategorySet what;
    what.steady_tasks = tasks;
    for (const auto& [name, category] : known_) manager.set_category(name, what, now);
}

void ProgramCategories::set_max(const engine::model::Sizes& most, manager::Manager& manager,
                                engine::model::Now now) {
    engine::model::CategorySet what;
    what.max = most;
    for (const auto& [name, category] : known_) manager.set_category(name, what, now);
}

}  // namespace wq::api

#include "app/feeder.h"

namespace wq::app {

void Feeder::feed(const std::vector<taskfile::Item>& items, Manager& manager, core::Now now) {
    for (const taskfile::Item& any : items) std::visit([&](const auto& known) { item(known, manager, now); }, any);
}

core::Shape Feeder::shape(Manager& manager) const {
    const TaskDefaults& defaults = options_.defaults;
    core::Shape shape;
    shape.needs.cores = settings_.cores.value_or(defaults.needs.cores);
    shape.needs.memory_mb = settings_.memory_mb.value_or(defaults.needs.memory_mb);
    shape.needs.disk_mb = settings_.disk_mb.value_or(defaults.needs.disk_mb);
    shape.needs.gpus = settings_.gpus.value_or(defaults.needs.gpus);
    shape.timeout = settings_.time.value_or(defaults.timeout);
    shape.min_time = settings_.min_time.value_or(Duration{0});
    shape.retries = settings_.retries.value_or(defaults.retries);
    if (settings_.category) shape.category = manager.category(*settings_.category);
    return shape;
}

std::uint32_t Feeder::group(const std::string& name) {
    return groups_.try_emplace(name, static_cast<std::uint32_t>(groups_.size())).first->second;
}

void Feeder::item(const taskfile::TaskLine& line, Manager& manager, core::Now now) {
    core::Shape what = shape(manager);
    for (const std::uint32_t worker : line.workers) what.workers.emplace_back(worker);
    std::vector<core::GroupTag> tags;
    for (const taskfile::GroupMembership& membership : line.groups) tags.push_back({group(membership.name), membership.sequential});
    append(tasks_.add_line(line.command, line.line, line.environment_position), std::move(what), std::move(tags), manager, now);
}

void Feeder::item(const taskfile::EnvironmentLine& line, Manager& manager, core::Now) {
    manager.add_environment_line(line.position, line.command, line.workers);
}

void Feeder::item(const taskfile::SettingsLine& line, Manager&, core::Now) { settings_ = line.settings; }

void Feeder::item(const taskfile::Barrier&, Manager& manager, core::Now now) {
    flush(manager, now);
    manager.add_barrier(now);
}

void Feeder::value(std::string_view value, std::uint64_t line, const taskfile::CommandTemplate& command, Manager& manager, core::Now now) {
    append(tasks_.add_value(value, line, command), shape(manager), {}, manager, now);
}

void Feeder::indexes(const taskfile::IndexSet& indexes, const taskfile::CommandTemplate& command, Manager& manager, core::Now now) {
    flush(manager, now);
    range_.first = tasks_.add_indexes(indexes, command);
    range_.count = indexes.count();
    range_.shape = shape(manager);
    std::uint64_t first = range_.first.value();
    for (const taskfile::IndexRange& part : indexes.ranges()) {
        for (const auto& [index, end] : options_.earlier.ends) {
            if (index < part.first || index > part.last || (index - part.first) % part.step != 0) continue;
            (end == EarlierRun::End::done ? done_ : failed_).insert(first + (index - part.first) / part.step);
        }
        first += part.count();
    }
    flush(manager, now);
}

void Feeder::append(TaskId task, core::Shape what, std::vector<core::GroupTag> groups, Manager& manager, core::Now now) {
    if (range_.count > 0 && (!groups.empty() || !range_.groups.empty() || !(range_.shape == what))) flush(manager, now);
    if (range_.count == 0) {
        range_.first = task;
        range_.shape = std::move(what);
        range_.groups = std::move(groups);
    }
    ++range_.count;
    if (options_.earlier.ends.empty()) return;
    const auto end = options_.earlier.ends.find(tasks_.key(task).value);
    if (end == options_.earlier.ends.end()) return;
    (end->second == EarlierRun::End::done ? done_ : failed_).insert(task.value());
}

void Feeder::flush(Manager& manager, core::Now now) {
    if (range_.count == 0) return;
    manager.add(range_, done_, failed_, now);
    range_ = core::TaskRange{{}, 0, {}, {}};
    done_ = {};
    failed_ = {};
}

}  // namespace wq::app

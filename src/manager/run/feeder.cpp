#include "manager/run/feeder.h"

#include "base/environment_changes.h"
#include "manager/run/source.h"

namespace wq::manager::run {

namespace {

std::string tags_of(const std::vector<engine::tasklist::GroupMembership>& groups,
                    const std::vector<std::uint32_t>& workers) {
    std::string tags;
    for (const engine::tasklist::GroupMembership& group : groups)
        tags += (group.sequential ? " #:" : " #+") + group.name;
    for (const std::uint32_t worker : workers) tags += " #@" + std::to_string(worker);
    return tags;
}

// The setting, or else the run's default if it is at least `least`, the smallest valid value.
template <class T, class Default>
std::optional<T> or_default(const std::optional<T>& said, const Default& value, const Default& least) {
    if (said || value < least) return said;
    return static_cast<T>(value);
}

// `open`: the resources for which its category sets what an unspecified task gets.
engine::tasklist::Settings with_defaults(engine::tasklist::Settings settings, const TaskDefaults& defaults,
                                         const engine::model::PerResource<bool>& open) {
    constexpr std::int64_t none = 0;
    constexpr std::int64_t one = 1;
    using enum engine::model::ResourceKind;
    if (!open.at(cores)) settings.cores = or_default(settings.cores, defaults.needs.cores, Count(0));
    if (!open.at(memory)) settings.memory_mb = or_default(settings.memory_mb, defaults.needs.memory_mb, one);
    if (!open.at(disk)) settings.disk_mb = or_default(settings.disk_mb, defaults.needs.disk_mb, none);
    if (!open.at(gpus)) settings.gpus = or_default(settings.gpus, defaults.needs.gpus, Count(0));
    settings.time = or_default(settings.time, defaults.timeout, Duration{1});
    settings.retries = or_default(settings.retries, defaults.retries, 1U);
    if (defaults.keeps_batch_environment && !settings.batch_environment)
        settings.batch_environment = batch_environment_kept;
    return settings;
}

// A line without cores needs one, so that a list fills the machine; a line with GPUs needs none.
engine::model::Needs needs_of(const engine::tasklist::Settings& settings,
                              const engine::model::PerResource<bool>& open) {
    engine::model::Needs needs;
    needs.memory_mb = settings.memory_mb.value_or(-1);
    needs.disk_mb = settings.disk_mb.value_or(-1);
    needs.gpus = settings.gpus.value_or(-1);
    needs.cores =
        settings.cores.value_or(needs.gpus > 0 || open.at(engine::model::ResourceKind::cores) ? -1 : 1);
    return needs;
}

}  // namespace

void Feeder::feed(const std::vector<engine::tasklist::Item>& items, manager::Manager& manager,
                  engine::model::Now now) {
    for (const engine::tasklist::Item& any : items)
        std::visit([&](const auto& known) { item(known, manager, now); }, any);
}

engine::model::Shape Feeder::shape(manager::Manager& manager, engine::model::Now now) {
    const engine::model::PerResource<bool> open =
        categories_.of_task(settings_.category, options_.defaults.needs, manager, now);
    engine::tasklist::Settings settings = with_defaults(settings_, options_.defaults, open);
    engine::model::Shape shape;
    shape.needs = needs_of(settings, open);
    shape.timeout = settings.time.value_or(Duration{0});
    shape.min_time = settings.min_time.value_or(Duration{0});
    shape.retries = settings.retries.value_or(0);
    shape.leased_only = !settings.inputs.empty() || !settings.outputs.empty();
    if (settings.category) shape.category = manager.category(*settings.category);
    if (!(settings == told_)) {
        told_ = settings;
        tasks_.add_settings(std::move(settings));
    }
    return shape;
}

std::uint32_t Feeder::group(const std::string& name) {
    return groups_.try_emplace(name, static_cast<std::uint32_t>(groups_.size())).first->second;
}

void Feeder::item(const engine::tasklist::TaskLine& line, manager::Manager& manager, engine::model::Now now) {
    engine::model::Shape what = shape(manager, now);
    for (const std::uint32_t worker : line.workers) what.workers.emplace_back(worker);
    std::vector<engine::model::GroupTag> tags;
    for (const engine::tasklist::GroupMembership& membership : line.groups)
        tags.push_back({group(membership.name), membership.sequential});
    const TaskId task = tasks_.add_line(line.command, line.line, line.environment_position,
                                        tags_of(line.groups, line.workers));
    append(task, std::move(what), std::move(tags), manager, now);
}

void Feeder::item(const engine::tasklist::EnvironmentLine& line, manager::Manager& manager,
                  engine::model::Now) {
    tasks_.add_environment_line(line.command + " #!" + tags_of({}, line.workers));
    manager.add_environment_line(line.position, line.command, line.workers);
}

void Feeder::item(const engine::tasklist::SettingsLine& line, manager::Manager&, engine::model::Now) {
    settings_ = line.settings;
}

void Feeder::item(const engine::tasklist::CategorySettings& line, manager::Manager& manager,
                  engine::model::Now now) {
    flush(manager, now);
    tasks_.add_category_line(line.category.name, line.text);
    categories_.apply_line(line, options_.defaults.needs, manager, now);
}

void Feeder::item(const engine::tasklist::Barrier&, manager::Manager& manager, engine::model::Now now) {
    flush(manager, now);
    manager.add_barrier(now);
}

void Feeder::value(std::string_view value, std::uint64_t line,
                   const engine::tasklist::CommandTemplate& command, manager::Manager& manager,
                   engine::model::Now now) {
    engine::model::Shape what = shape(manager, now);
    append(tasks_.add_value(value, line, command), std::move(what), {}, manager, now);
}

void Feeder::indexes(const engine::tasklist::IndexSet& indexes,
                     const engine::tasklist::CommandTemplate& command, manager::Manager& manager,
                     engine::model::Now now) {
    flush(manager, now);
    range_.shape = shape(manager, now);
    range_.first = tasks_.add_indexes(indexes, command);
    range_.count = indexes.count();
    ArrayEnds ends(options_.earlier);
    ends.find(indexes, range_.first);
    done_ = ends.done();
    failed_ = ends.failed();
    flush(manager, now);
}

void Feeder::append(TaskId task, engine::model::Shape what, std::vector<engine::model::GroupTag> groups,
                    manager::Manager& manager, engine::model::Now now) {
    if (range_.count > 0 && (!groups.empty() || !range_.groups.empty() || !(range_.shape == what)))
        flush(manager, now);
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

void Feeder::end(manager::Manager& manager, engine::model::Now now) {
    flush(manager, now);
    categories_.end(manager);
}

void Feeder::flush(manager::Manager& manager, engine::model::Now now) {
    if (range_.count == 0) return;
    manager.add(range_, done_, failed_, now);
    range_ = engine::model::TaskRange{{}, 0, {}, {}};
    done_ = {};
    failed_ = {};
}

}  // namespace wq::manager::run

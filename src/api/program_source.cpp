#include "api/program_source.h"

#include <algorithm>
#include <utility>

#include "api/translation.h"
#include "base/units.h"

namespace wq::api {

namespace {

bool plain(const TaskData& task) {
    return !task.specs && task.kind != TaskKind::range;
}

std::string_view function(const TaskData& task) {
    return task.kind == TaskKind::command ? std::string_view() : task.text;
}

}  // namespace

Status ProgramSource::read(manager::Manager& manager, engine::model::Now now) {
    queue_.take(commands_);
    for (CommandQueue::Command& command : commands_) {
        if (auto* task = std::get_if<std::unique_ptr<TaskData>>(&command)) {
            submit(*task, manager, now);
        } else {
            flush(manager, now);
            std::get<std::unique_ptr<Asked>>(command)->run();
        }
    }
    commands_.clear();
    flush(manager, now);
    return success();
}

void ProgramSource::drop_requests() noexcept {
    CommandQueue::drop_requests_of(commands_);
    queue_.drop_requests();
}

void ProgramSource::keep_tasks() {
    queue_.take(commands_);
    for (CommandQueue::Command& command : commands_)
        if (auto* task = std::get_if<std::unique_ptr<TaskData>>(&command); task != nullptr && *task)
            tasks_.add(std::move(*task));
    commands_.clear();
}

// Most tasks differ only in their text, so their shape is compared without being built.
bool ProgramSource::like_the_last(const TaskData& task) const {
    return range_.count > 0 && plain(task) && plain_ && task.priority == range_.shape.priority &&
           task.category == category_ && function(task) == function_;
}

void ProgramSource::submit(std::unique_ptr<TaskData>& task, manager::Manager& manager,
                           engine::model::Now now) {
    const std::uint64_t count = task->count();
    if (!like_the_last(*task)) {
        const bool measured = task->specs && task->specs->is_measured();
        const CategoryId category = categories_.of_task(task->category, measured, manager, now);
        engine::model::Shape shape = shape_of(*task, categories_.has_settings(category, manager));
        shape.category = category;
        if (range_.count > 0 && !(shape == range_.shape)) flush(manager, now);
        if (range_.count == 0) range_.shape = std::move(shape);
        plain_ = plain(*task);
        function_ = function(*task);
        category_ = task->category;
    }
    recorder_.submitted(TaskId(static_cast<std::uint64_t>(task->id) - 1), *task,
                        manager.records().requested(range_.shape.needs, range_.shape.category), now.wall);
    const TaskId first = tasks_.add(std::move(task));
    if (range_.count == 0) range_.first = first;
    range_.count += count;
}

void ProgramSource::flush(manager::Manager& manager, engine::model::Now now) {
    if (range_.count == 0) return;
    manager.add(range_, {}, {}, now);
    range_ = engine::model::TaskRange{{}, 0, {}, {}};
}

void UnfinishedTasks::begin() noexcept {
    const std::lock_guard lock(mutex_);
    begun_ = true;
}

// Call it with the lock. The source may not have read the last submissions yet.
bool UnfinishedTasks::update_tasks() {
    if (begun_) source_.keep_tasks();
    return begun_;
}

std::unique_ptr<TaskData> UnfinishedTasks::give_back(TaskData* task) {
    if (task == nullptr) return nullptr;
    TaskReport& report = task->edit_report();
    report.reason = queue_.why_closed();
    report.result = TaskResult::forsaken;
    report.finish_time = wall_now();
    const TaskId id(static_cast<std::uint64_t>(task->id) - 1);
    RangeTask* range = tasks_.range_of(id);
    if (range != nullptr) {
        report.progress = {};
        report.progress.done_total = range->done;
        report.progress.failed_total = range->failed;
        report.progress.size = range->size();
    }
    std::unique_ptr<TaskData> taken = range != nullptr ? tasks_.remove_range(*range) : tasks_.remove(id);
    results_.forget(taken->tag, taken->by_tag_only);
    return taken;
}

std::unique_ptr<TaskData> UnfinishedTasks::next(const std::string* tag) {
    const std::lock_guard lock(mutex_);
    if (!update_tasks()) return nullptr;
    if (tag != nullptr) return give_back(tasks_.tagged(*tag));
    for (; next_ <= static_cast<std::int64_t>(tasks_.size()); ++next_) {
        TaskData* const task = tasks_.find_whole(next_);
        if (task != nullptr && !task->by_tag_only) return give_back(task);
    }
    return nullptr;
}

std::unique_ptr<TaskData> UnfinishedTasks::take(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    return update_tasks() ? give_back(tasks_.find_whole(id)) : nullptr;
}

std::vector<std::unique_ptr<TaskData>> UnfinishedTasks::take_category(const std::string* category) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<TaskData>> all;
    if (!update_tasks()) return all;
    std::vector<TaskData*> wanted;
    tasks_.for_each([&](TaskData& task) {
        if (!task.by_tag_only && (category == nullptr || task.category == *category)) wanted.push_back(&task);
    });
    all.reserve(wanted.size());
    for (TaskData* const task : wanted) all.push_back(give_back(task));
    return all;
}

bool UnfinishedTasks::has(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    return update_tasks() && tasks_.find_whole(id) != nullptr;
}

namespace {
// Reserved for the reason of a failure, because no memory may be left then.
constexpr std::size_t longest_reason = 512;
}  // namespace

void Asked::run() {
    answered_ = true;
    try {
        request_();
    } catch (...) {
        answer_.set_exception(std::current_exception());
        throw;
    }
    answer_.set_value(true);
}

CommandQueue::CommandQueue() {
    why_closed_.reserve(longest_reason);
}

void CommandQueue::queue_command(Command command) {
    waiting_.push_back(std::move(command));
    if (!asleep_) return;
    asleep_ = false;
    woken_ = wake_.set();
}

std::int64_t CommandQueue::submit(std::unique_ptr<TaskData> task) {
    const std::lock_guard lock(mutex_);
    if (closed_) return 0;
    const std::int64_t id = next_id_;
    const auto count = static_cast<std::int64_t>(task->count());
    task->id = id;
    queue_command(std::move(task));
    next_id_ += count;  // ids have no gaps, even if memory ran out for a task
    return id;
}

bool CommandQueue::ask(std::function<void()> request) {
    auto asked = std::make_unique<Asked>(std::move(request));
    std::future<bool> answer = asked->answer();
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return false;
        queue_command(std::move(asked));
    }
    return answer.get();
}

std::int64_t CommandQueue::submitted() const {
    const std::lock_guard lock(mutex_);
    return next_id_ - 1;
}

void CommandQueue::close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
}

void CommandQueue::fail(std::string_view why) noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = failed_ = true;
    why_closed_ += ": ";
    why_closed_ += why.substr(0, why_closed_.capacity() - why_closed_.size());
}

std::string CommandQueue::why_closed() const {
    const std::lock_guard lock(mutex_);
    return why_closed_;
}

std::string CommandQueue::failure() const {
    const std::lock_guard lock(mutex_);
    return failed_ ? why_closed_ : std::string();
}

void CommandQueue::drop_requests() noexcept {
    const std::lock_guard lock(mutex_);
    drop_requests_of(waiting_);
}

bool CommandQueue::has_more() {
    const std::lock_guard lock(mutex_);
    asleep_ = waiting_.empty();
    return !asleep_;
}

void CommandQueue::take(std::vector<Command>& commands) {
    const std::lock_guard lock(mutex_);
    asleep_ = false;
    if (woken_ && wake_.clear()) woken_ = false;
    if (commands.empty()) {
        commands.swap(waiting_);
        return;
    }
    commands.insert(commands.end(), std::make_move_iterator(waiting_.begin()),
                    std::make_move_iterator(waiting_.end()));
    waiting_.clear();
}

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

bool ProgramCategories::has_settings(CategoryId id, const manager::Manager& manager) const {
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

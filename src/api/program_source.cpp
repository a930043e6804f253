#include "api/program_source.h"

#include "api/shapes.h"

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
        engine::model::Shape shape = shape_of(*task, categories_.speaks(category, manager));
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

}  // namespace wq::api

#include "capi/task_box.h"

#include "capi/living.h"
#include "capi/messages.h"
#include "capi/summaries.h"

namespace wq::capi {

TaskBox::TaskBox(Task specified)
    : work_queue_task{},
      spec(std::move(specified)),
      requested_(blank_summary(-1)),
      allocated_(blank_summary(-1)),
      measured_(blank_summary(-1)) {
    resources_requested = &requested_;
    resources_allocated = &allocated_;
    resources_measured = &measured_;
    show_spec(*this);
    clear_outcome(*this);
}

void TaskBox::set_text(char* work_queue_task::*field, std::optional<std::string> text) {
    for (Text& one : texts_) {
        if (one.field != nullptr && one.field != field) continue;
        one.field = field;
        one.text = text ? std::move(*text) : std::string();
        this->*field = text ? one.text.data() : nullptr;
        return;
    }
}

void show_spec(TaskBox& box) {
    const Task& spec = box.spec;
    const auto or_null = [](const std::string& text) {
        return text.empty() ? std::nullopt : std::optional(text);
    };
    box.set_text(&work_queue_task::command_line, or_null(spec.command()));
    box.set_text(&work_queue_task::tag, or_null(spec.tag()));
    box.set_text(&work_queue_task::category, spec.category());
    box.priority = spec.priority();
    const TaskResources wanted = spec.resources_requested();
    box.resources_requested->cores = static_cast<double>(wanted.cores);
    box.resources_requested->memory = static_cast<double>(wanted.memory);
    box.resources_requested->disk = static_cast<double>(wanted.disk);
    box.resources_requested->gpus = static_cast<double>(wanted.gpus);
}

TaskBox* task_of(const char* function, const work_queue_task* task) {
    if (task == nullptr) {
        complain(function, "the task is NULL");
        return nullptr;
    }
    if (!Living<work_queue_task>::all().has(task)) {
        complain(function, "this is no task, or one that was deleted");
        return nullptr;
    }
    return const_cast<TaskBox*>(static_cast<const TaskBox*>(task));
}

TaskBox* task_to_specify(const char* function, work_queue_task* task) {
    TaskBox* box = task_of(function, task);
    if (box == nullptr || box->queue == nullptr) return box;
    complain(function,
             "task " + std::to_string(box->taskid) + " is in a queue: specify it before, or cancel it first");
    return nullptr;
}

}  // namespace wq::capi

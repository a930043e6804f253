#include "bindings/c/task_box.h"

#include <algorithm>
#include <utility>

#include "bindings/c/guard.h"
#include "bindings/c/live_objects.h"

namespace wq::bindings::c {

namespace {

constexpr char* work_queue_task::*texts[] = {
    &work_queue_task::tag,
    &work_queue_task::command_line,
    &work_queue_task::output,
    &work_queue_task::reason,
    &work_queue_task::host,
    &work_queue_task::hostname,
    &work_queue_task::category,
    &work_queue_task::monitor_output_directory,
    &work_queue_task::monitor_snapshot_file,
    &work_queue_task::coprocess,
};

// Shared by all tasks that have not run.
rmsummary* nothing() {
    static rmsummary blank = blank_summary(-1);
    return &blank;
}

rmsummary& written(std::unique_ptr<rmsummary>& own, rmsummary*& field) {
    own = std::make_unique<rmsummary>(blank_summary(-1));
    field = own.get();
    return *own;
}

}  // namespace

TaskBox::TaskBox(Task specified)
    : work_queue_task{}, spec(std::move(specified)), requested_(blank_summary(-1)) {
    resources_requested = &requested_;
    show_spec(*this);
    clear_outcome(*this);
}

TaskBox::~TaskBox() {
    if (lent_) output = nullptr;
    for (const auto field : texts) delete[](this->*field);
}

void TaskBox::set_text(char* work_queue_task::*field, std::optional<std::string_view> text) {
    if (lent_ && field == &work_queue_task::output) {
        output = nullptr;
        lent_.reset();
    }
    // Pointers to a string stay valid while its text is unchanged.
    if (text && this->*field != nullptr && *text == this->*field) return;
    std::unique_ptr<char[]> copy;
    if (text) {
        copy = std::make_unique<char[]>(text->size() + 1);
        std::copy(text->begin(), text->end(), copy.get());
    }
    delete[] std::exchange(this->*field, copy.release());
}

void TaskBox::set_output(const Task& ended) {
    constexpr std::size_t large = 16u << 20;
    const std::string_view out = ended.output_view();
    const std::string_view err = ended.error_output_view();
    if (out.size() <= large || !err.empty())
        return set_text(&work_queue_task::output, std::string(out) += err);
    set_text(&work_queue_task::output, std::nullopt);
    lent_ = ended;
    output = const_cast<char*>(lent_->output_view().data());
}

rmsummary& TaskBox::allocated() {
    return written(allocated_, resources_allocated);
}
rmsummary& TaskBox::measured() {
    return written(measured_, resources_measured);
}
rmsummary& TaskBox::exceeded() {
    return written(exceeded_, limits_exceeded);
}
void TaskBox::clear_resources() {
    resources_allocated = resources_measured = nothing();
    limits_exceeded = nullptr;
    allocated_.reset();
    measured_.reset();
    exceeded_.reset();
}

void show_spec(TaskBox& box) {
    const Task& spec = box.spec;
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
    if (!LiveObjects<work_queue_task>::all().has(task)) {
        complain(function, "this is not a task, or it was deleted");
        return nullptr;
    }
    return const_cast<TaskBox*>(static_cast<const TaskBox*>(task));
}

TaskBox* task_to_specify(const char* function, work_queue_task* task) {
    TaskBox* box = task_of(function, task);
    if (box == nullptr || box->queue == nullptr) return box;
    complain(function, "task " + std::to_string(box->taskid) + " is in a queue: wait for it, or cancel it");
    return nullptr;
}

}  // namespace wq::bindings::c

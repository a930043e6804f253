// A task of a C program: its public struct, and the private data behind it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "capi/cctools/work_queue_task.h"
#include "capi/quarantine.h"
#include "work_queue/task.h"

struct work_queue;

namespace wq::capi {

// Of 4096 that were deleted, 3 MB, each is still told from those that live.
struct TaskBox : work_queue_task, Quarantined<TaskBox, 4096> {
    explicit TaskBox(Task specified);
    ~TaskBox();
    TaskBox(const TaskBox&) = delete;

    Task spec;                    // as it is to be submitted
    work_queue* queue = nullptr;  // that has it
    // Names in the sandbox, each with what is there; the bytes of buffers are in `spec` alone.
    std::map<std::string, std::string> files;
    std::string refused_file;  // why one was; it is not submitted without it

    // Of a field that is a text: a copy; nothing: NULL.
    void set_text(char* work_queue_task::*field, std::optional<std::string_view> text);
    // resources_allocated, resources_measured and limits_exceeded, to be written; they say nothing of
    // themselves after clear_resources().
    rmsummary& allocated();
    rmsummary& measured();
    rmsummary& exceeded();
    void clear_resources();

  private:
    rmsummary requested_;
    std::unique_ptr<rmsummary> allocated_;  // a task that has not run has none
    std::unique_ptr<rmsummary> measured_;
    std::unique_ptr<rmsummary> exceeded_;
};

// What set_text() takes of an empty text: a C program has NULL there.
inline std::optional<std::string_view> or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

// The fields that say what was specified, by `box.spec`.
void show_spec(TaskBox& box);
// The fields that say what became of it; `ended` as wait() or a cancelling function gave it back.
void show_outcome(TaskBox& box, const Task& ended);
// The same of one that no manager has ever had.
void show_forsaken(TaskBox& box, const std::string& reason);
// None.
void clear_outcome(TaskBox& box);

// The task of a pointer; null, and a line on stderr: it is NULL, or deleted.
TaskBox* task_of(const char* function, const work_queue_task* task);
// The same; null as well where it is in a queue.
TaskBox* task_to_specify(const char* function, work_queue_task* task);

}  // namespace wq::capi

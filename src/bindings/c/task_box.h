// Helpers for the struct rmsummary in tasks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/c/guard.h"
#include "cctools/rmsummary.h"
#include "cctools/work_queue_task.h"
#include "work_queue/task.h"

namespace wq::bindings::c {

// Not on the heap: no strings, and `value` for every number.
rmsummary blank_summary(double value);

}  // namespace wq::bindings::c

// A task of a C program: its public struct and private data.
struct work_queue;

namespace wq::bindings::c {

// Recognizes the last 4096 deleted tasks, about 3 MB.
struct TaskBox : work_queue_task, Quarantined<TaskBox, 4096> {
    explicit TaskBox(Task specified);
    ~TaskBox();
    TaskBox(const TaskBox&) = delete;

    Task spec;                    // the task to submit
    work_queue* queue = nullptr;  // queue that has it
    // Names in the sandbox with their sources; bytes of buffers are only in `spec`.
    std::map<std::string, std::string> files;
    std::size_t output_size = 0;
    // Of resources_measured.
    std::string category_text, command_text, id_text;
    std::vector<rmsummary> snapshots;
    std::vector<rmsummary*> snapshot_list;
    std::vector<std::string> snapshot_names;
    rmsummary peak_times{};
    std::string refused_file;  // why a file was refused; the task is then not submitted

    // Sets a string field to a copy; nothing: NULL.
    void set_text(char* work_queue_task::*field, std::optional<std::string_view> text);
    // Sets `output` to both streams of `ended`. A large one is not copied: the field points into the task.
    void set_output(const Task& ended);
    // Writable resources_allocated, resources_measured and limits_exceeded; clear_resources() empties them.
    rmsummary& allocated();
    rmsummary& measured();
    rmsummary& exceeded();
    void clear_resources();

  private:
    std::optional<Task> lent_;  // has what `output` points to; nothing: `output` is a copy
    rmsummary requested_;
    std::unique_ptr<rmsummary> allocated_;  // null for a task that has not run
    std::unique_ptr<rmsummary> measured_;
    std::unique_ptr<rmsummary> exceeded_;
};

// Converts an empty text for set_text(): a C program gets NULL.
inline std::optional<std::string_view> or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

// Sets the fields with the settings, from `box.spec`.
void show_spec(TaskBox& box);
// Sets the fields with the results; `ended` comes from wait() or a cancelling function.
void show_outcome(TaskBox& box, const Task& ended);
// Same for a task that no manager has had.
void show_forsaken(TaskBox& box, const std::string& reason);
// Clears the fields with the results.
void clear_outcome(TaskBox& box);

// Returns the task of a pointer; null, with a line on stderr: it is NULL, or deleted.
TaskBox* task_of(const char* function, const work_queue_task* task);
// Same, but also null if the task is in a queue.
TaskBox* task_to_specify(const char* function, work_queue_task* task);

}  // namespace wq::bindings::c

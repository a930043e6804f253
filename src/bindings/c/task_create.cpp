// Creates, copies and deletes tasks, and sets their commands.
#include <memory>

#include "bindings/c/live_objects.h"
#include "bindings/c/specify.h"

namespace wq::bindings::c {

namespace {

work_queue_task* living_one(std::unique_ptr<TaskBox> box) {
    LiveObjects<work_queue_task>::all().add(box.get());
    return box.release();
}

// Copies the fields that the manager does not know.
void copy_notes(const TaskBox& from, TaskBox& to) {
    const auto text = [](const char* from_c) {
        return from_c == nullptr ? std::nullopt : std::optional<std::string_view>(from_c);
    };
    for (char* work_queue_task::*field :
         {&work_queue_task::monitor_output_directory, &work_queue_task::monitor_snapshot_file,
          &work_queue_task::coprocess})
        to.set_text(field, text(from.*field));
    to.worker_selection_algorithm = from.worker_selection_algorithm;
    to.max_retries = from.max_retries;
    to.files = from.files;
    to.refused_file = from.refused_file;
    to.min_running_time = from.min_running_time;
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

work_queue_task* work_queue_task_create(const char* command) {
    return guarded(__func__, static_cast<work_queue_task*>(nullptr), [&](const char*) {
        return living_one(std::make_unique<TaskBox>(wq::Task(command == nullptr ? "" : command)));
    });
}

work_queue_task* work_queue_task_clone(const work_queue_task* t) {
    return guarded(__func__, static_cast<work_queue_task*>(nullptr), [&](const char* me) {
        const TaskBox* from = task_of(me, t);
        if (from == nullptr) return static_cast<work_queue_task*>(nullptr);
        auto copy = std::make_unique<TaskBox>(from->spec);
        copy_notes(*from, *copy);
        return living_one(std::move(copy));
    });
}

void work_queue_task_delete(work_queue_task* t) {
    if (t == nullptr) return;
    guarded(__func__, [&](const char* me) {
        TaskBox* box = task_to_specify(me, t);
        if (box == nullptr) return;
        LiveObjects<work_queue_task>::all().remove(t);
        delete box;
    });
}

void work_queue_task_specify_command(work_queue_task* t, const char* command) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.command(command == nullptr ? "" : command); });
}

const char* work_queue_result_str(work_queue_result_t result) {
    return wq::result_str(static_cast<wq::TaskResult>(result));
}

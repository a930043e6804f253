// Specifies the resources and limits of a task.

#include "bindings/c/task_needs.h"

#include <algorithm>
#include <climits>
#include <memory>

#include "bindings/c/live_objects.h"

namespace wq::bindings::c {

namespace {

// Work Queue takes any negative number as "not specified".
std::int64_t need(std::int64_t count) {
    return std::max<std::int64_t>(count, -1);
}

void specify_variable(const char* function, work_queue_task* t, const char* name, const char* value) {
    specify_or_refuse(function, t, [&](TaskBox& box) -> std::string {
        if (name == nullptr || *name == '\0') return "a variable needs a name";
        box.spec.environment_variable(name,
                                      value == nullptr ? std::nullopt : std::optional<std::string>(value));
        return {};
    });
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

void work_queue_task_specify_max_retries(work_queue_task* t, std::int64_t max_retries) {
    specify(__func__, t, [&](TaskBox& box) {
        box.spec.max_retries(max_retries);
        box.max_retries = static_cast<int>(std::clamp<std::int64_t>(max_retries, INT_MIN, INT_MAX));
    });
}
void work_queue_task_specify_memory(work_queue_task* t, std::int64_t memory) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.memory(need(memory)); });
}
void work_queue_task_specify_disk(work_queue_task* t, std::int64_t disk) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.disk(need(disk)); });
}
void work_queue_task_specify_cores(work_queue_task* t, int cores) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.cores(static_cast<double>(need(cores))); });
}
void work_queue_task_specify_gpus(work_queue_task* t, int gpus) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.gpus(static_cast<double>(need(gpus))); });
}
void work_queue_task_specify_end_time(work_queue_task* t, std::int64_t useconds) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.end_time(useconds); });
}
void work_queue_task_specify_start_time_min(work_queue_task* t, std::int64_t useconds) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.start_time_min(useconds); });
}
void work_queue_task_specify_running_time(work_queue_task* t, std::int64_t useconds) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.specify_running_time(useconds); });
}
void work_queue_task_specify_running_time_max(work_queue_task* t, std::int64_t seconds) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.running_time_max(seconds); });
}
void work_queue_task_specify_running_time_min(work_queue_task* t, std::int64_t seconds) {
    specify(__func__, t, [&](TaskBox& box) {
        box.spec.running_time_min(seconds);
        box.min_running_time = seconds;
    });
}
void work_queue_task_specify_tag(work_queue_task* t, const char* tag) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.tag(tag == nullptr ? "" : tag); });
}
void work_queue_task_specify_category(work_queue_task* t, const char* category) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.category(category == nullptr ? "" : category); });
}
void work_queue_task_specify_feature(work_queue_task* t, const char* name) {
    specify_or_refuse(__func__, t, [&](TaskBox& box) -> std::string {
        if (name == nullptr || *name == '\0') return "a feature needs a name";
        box.spec.feature(name);
        return {};
    });
}
void work_queue_task_specify_priority(work_queue_task* t, double priority) {
    specify(__func__, t, [&](TaskBox& box) { box.spec.priority(priority); });
}
void work_queue_task_specify_environment_variable(work_queue_task* t, const char* name, const char* value) {
    specify_variable(__func__, t, name, value);
}
void work_queue_task_specify_enviroment_variable(work_queue_task* t, const char* name, const char* value) {
    specify_variable(__func__, t, name, value);
}

void work_queue_task_specify_monitor_output(work_queue_task* t, const char* folder) {
    specify(__func__, t, [&](TaskBox& box) {
        box.spec.monitor_output(folder == nullptr ? "" : folder);
        box.set_text(&work_queue_task::monitor_output_directory,
                     folder == nullptr ? std::nullopt : std::optional<std::string_view>(folder));
    });
}

void work_queue_task_specify_coprocess(work_queue_task* t, const char* name) {
    specify(__func__, t, [&](TaskBox& box) {
        box.spec.coprocess(name == nullptr ? "" : name);
        box.set_text(&work_queue_task::coprocess,
                     name == nullptr ? std::nullopt : std::optional<std::string_view>(name));
    });
}

void work_queue_task_specify_algorithm(work_queue_task* t, work_queue_schedule_t algorithm) {
    specify(__func__, t, [&](TaskBox& box) { box.worker_selection_algorithm = algorithm; });
}
int work_queue_specify_snapshot_file(work_queue_task* t, const char* file) {
    return specify_or_refuse(__func__, t, [&](TaskBox& box) -> std::string {
        if (file == nullptr) return "the name of the file is NULL";
        box.spec.snapshot_file(file);
        box.set_text(&work_queue_task::monitor_snapshot_file, file);
        return {};
    });
}

// Creates, copies and deletes tasks, and sets their commands.

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

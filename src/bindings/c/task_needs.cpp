// Specifies the resources and limits of a task.

#include <algorithm>
#include <climits>
#include <memory>
#include <string_view>

#include "api/task_data.h"
#include "base/relative_path.h"
#include "base/units.h"
#include "bindings/c/guard.h"
#include "bindings/c/task_box.h"
#include "cctools/work_queue_deprecated.h"

namespace wq::bindings::c {

namespace {

// Runs `work(box)` if the task may be specified. Returns 1, else 0.
template <class Work>
int specify(const char* function, work_queue_task* task, const Work& work) noexcept {
    return guarded(function, 0, [&](const char* name) {
        TaskBox* box = task_to_specify(name, task);
        if (box == nullptr) return 0;
        work(*box);
        show_spec(*box);
        return 1;
    });
}

// Same for work that may refuse: it returns the reason, or "".
template <class Work>
int specify_or_refuse(const char* function, work_queue_task* task, const Work& work) noexcept {
    return guarded(function, 0, [&](const char* name) {
        TaskBox* box = task_to_specify(name, task);
        if (box == nullptr) return 0;
        const std::string refusal = work(*box);
        if (refusal.empty()) return 1;
        complain(name, refusal);
        return 0;
    });
}

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

// Specifies the inputs and outputs of a task.

namespace wq::bindings::c {

namespace {

bool has(work_queue_file_flags_t flags, work_queue_file_flags_t one) {
    return (flags & one) != 0;
}

// The name of a new file, or why the file is refused; both are empty if the task already has this very file.
struct NewName {
    std::string name;
    std::string refusal;
};

NewName refused(std::string why) {
    return {{}, std::move(why)};
}

// CCTools ends the program here, because without the file the task would do something else.
NewName keep_back(TaskBox& box, std::string why) {
    box.refused_file = why;
    return refused(std::move(why));
}

// `what` identifies the source of the file.
NewName place_for(TaskBox& box, const char* name, const std::string& what) {
    if (name == nullptr) return keep_back(box, "the remote name is NULL");
    auto form = relative_path(name);
    if (!form)
        return keep_back(box, "a file cannot be " + quote_for_message(name) +
                                  " in a sandbox: give a relative path without '..'");
    const auto [file, added] = box.files.emplace(*form, what);
    if (added) return {std::move(*form), {}};
    if (file->second == what) return {};
    return refused("the task has another file named " + quote_for_message(*form));
}

// Same for a file from `from`, which messages call `called`.
NewName place_for(TaskBox& box, const char* name, const char* kind, const char* from, const char* called) {
    if (from == nullptr) return keep_back(box, std::string(called) + " is NULL");
    if (*from == '\0') return keep_back(box, std::string(called) + " is empty");
    return place_for(box, name, std::string(kind) + from);
}

std::string refusal_of_output(const char* what) {
    return std::string(what) + " can only be an input: give WORK_QUEUE_INPUT";
}

FileOptions input_options(work_queue_file_flags_t flags) {
    FileOptions options;
    options.cache = has(flags, WORK_QUEUE_CACHE);
    return options;
}

FileOptions output_options(work_queue_file_flags_t flags) {
    FileOptions options;
    options.failure_only = has(flags, WORK_QUEUE_FAILURE_ONLY);
    options.success_only = has(flags, WORK_QUEUE_SUCCESS_ONLY);
    options.watch = has(flags, WORK_QUEUE_WATCH);
    options.cache = has(flags, WORK_QUEUE_CACHE);
    return options;
}

int specify_file(const char* function, work_queue_task* t, const char* local_name, const char* remote_name,
                 work_queue_file_type_t type, work_queue_file_flags_t flags) {
    return specify_or_refuse(function, t, [&](TaskBox& box) -> std::string {
        if (type != WORK_QUEUE_INPUT && type != WORK_QUEUE_OUTPUT)
            return "the type is neither WORK_QUEUE_INPUT nor WORK_QUEUE_OUTPUT";
        const char* kind = type == WORK_QUEUE_INPUT ? "input " : "output ";
        const NewName place = place_for(box, remote_name, kind, local_name, "the local name");
        if (place.name.empty()) return place.refusal;
        if (type == WORK_QUEUE_INPUT)
            box.spec.input_file(local_name, place.name, input_options(flags));
        else
            box.spec.output_file(local_name, place.name, output_options(flags));
        return {};
    });
}

constexpr const char* buffer = "buffer";

// Whether the task has a buffer of this name with exactly these bytes.
bool is_buffer(const TaskBox& box, const char* name, std::string_view bytes) {
    const auto form = name == nullptr ? std::nullopt : relative_path(name);
    const TaskData& data = TaskAccess::data(box.spec);
    if (!form || !data.specs || !data.specs->files) return false;
    const auto& inputs = data.specs->files->inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](const files::trees::InputFile& input) {
        return input.source == files::trees::InputSource::buffer && input.name == *form &&
               input.from == bytes;
    });
}

int specify_buffer(const char* function, work_queue_task* t, const char* data, int length, const char* name,
                   work_queue_file_flags_t flags) {
    return specify_or_refuse(function, t, [&](TaskBox& box) -> std::string {
        if (data == nullptr && length != 0) return "the data is NULL";
        if (length < 0) return "the length is negative";
        const std::string_view bytes(data == nullptr ? "" : data, static_cast<std::size_t>(length));
        const NewName place = place_for(box, name, is_buffer(box, name, bytes) ? buffer : "another buffer");
        if (place.name.empty()) return place.refusal;
        box.files[place.name] = buffer;
        box.spec.input_buffer(std::string(bytes), place.name, input_options(flags));
        return {};
    });
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

int work_queue_task_specify_file(work_queue_task* t, const char* local_name, const char* remote_name,
                                 work_queue_file_type_t type, work_queue_file_flags_t flags) {
    return specify_file(__func__, t, local_name, remote_name, type, flags);
}

int work_queue_task_specify_file_piece(work_queue_task* t, const char* local_name, const char* remote_name,
                                       off_t start_byte, off_t end_byte, work_queue_file_type_t type,
                                       work_queue_file_flags_t flags) {
    return specify_or_refuse(__func__, t, [&](TaskBox& box) -> std::string {
        if (type != WORK_QUEUE_INPUT) return refusal_of_output("a piece of a file");
        if (start_byte < 0 || end_byte < start_byte) return "a piece needs 0 <= first byte <= last byte";
        const std::string kind = std::to_string(start_byte) + "-" + std::to_string(end_byte) + " of ";
        const NewName place = place_for(box, remote_name, kind.c_str(), local_name, "the local name");
        if (place.name.empty()) return place.refusal;
        box.spec.input_piece(local_name, place.name, static_cast<std::uint64_t>(start_byte),
                             static_cast<std::uint64_t>(end_byte), input_options(flags));
        return {};
    });
}

int work_queue_task_specify_buffer(work_queue_task* t, const char* data, int length, const char* remote_name,
                                   work_queue_file_flags_t flags) {
    return specify_buffer(__func__, t, data, length, remote_name, flags);
}

int work_queue_task_specify_directory(work_queue_task* t, const char* local_name, const char* remote_name,
                                      work_queue_file_type_t type, work_queue_file_flags_t flags,
                                      int recursive) {
    if (type != WORK_QUEUE_INPUT || recursive != 0)
        return specify_file(__func__, t, local_name, remote_name, type, flags);
    return specify_or_refuse(__func__, t, [&](TaskBox& box) -> std::string {
        const NewName place = place_for(box, remote_name, "an empty folder");
        if (!place.name.empty()) box.spec.input_folder(place.name);
        return place.refusal;
    });
}

int work_queue_task_specify_url(work_queue_task* t, const char* url, const char* remote_name,
                                work_queue_file_type_t type, work_queue_file_flags_t flags) {
    return specify_or_refuse(__func__, t, [&](TaskBox& box) -> std::string {
        if (type != WORK_QUEUE_INPUT) return refusal_of_output("a URL");
        const NewName place = place_for(box, remote_name, "url ", url, "the URL");
        if (!place.name.empty()) box.spec.input_url(url, place.name, input_options(flags));
        return place.refusal;
    });
}

int work_queue_task_specify_file_command(work_queue_task* t, const char* command, const char* remote_name,
                                         work_queue_file_type_t type, work_queue_file_flags_t flags) {
    return specify_or_refuse(__func__, t, [&](TaskBox& box) -> std::string {
        if (type != WORK_QUEUE_INPUT) return refusal_of_output("the result of a command");
        const NewName place = place_for(box, remote_name, "command ", command, "the command");
        if (!place.name.empty()) box.spec.input_command(command, place.name, input_options(flags));
        return place.refusal;
    });
}

// ---- older names ----

int work_queue_task_specify_input_buf(work_queue_task* t, const char* data, int length,
                                      const char* remote_name) {
    return specify_buffer(__func__, t, data, length, remote_name, WORK_QUEUE_NOCACHE);
}
int work_queue_task_specify_input_file(work_queue_task* t, const char* local_name, const char* remote_name) {
    return specify_file(__func__, t, local_name, remote_name, WORK_QUEUE_INPUT, WORK_QUEUE_CACHE);
}
int work_queue_task_specify_input_file_do_not_cache(work_queue_task* t, const char* local_name,
                                                    const char* remote_name) {
    return specify_file(__func__, t, local_name, remote_name, WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE);
}
int work_queue_task_specify_output_file(work_queue_task* t, const char* remote_name, const char* local_name) {
    return specify_file(__func__, t, local_name, remote_name, WORK_QUEUE_OUTPUT, WORK_QUEUE_CACHE);
}
int work_queue_task_specify_output_file_do_not_cache(work_queue_task* t, const char* remote_name,
                                                     const char* local_name) {
    return specify_file(__func__, t, local_name, remote_name, WORK_QUEUE_OUTPUT, WORK_QUEUE_NOCACHE);
}

// The content of a Task. It moves from the program's thread to the manager's and back without copying. Rarely
// used settings are separate, so that a plain task takes 200 bytes besides its text.
#pragma once

#include <array>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/environment_changes.h"
#include "base/memory_file.h"
#include "engine/model/outcome.h"
#include "files/trees/task_files.h"
#include "records/journal/append_file.h"
#include "work_queue/task.h"

namespace wq {

// Settings that most tasks do not use.
struct TaskSpecs {
    TaskResources needs;
    std::vector<std::string> features;
    EnvironmentChanges environment;
    std::shared_ptr<files::trees::TaskFiles> files;  // shared with copies of the task; copied on write
    std::int64_t max_retries = 0;
    std::int64_t running_time_max = 0;  // seconds
    std::int64_t running_time_min = 0;  // seconds
    std::int64_t end_time = 0;          // us since the epoch
    std::int64_t start_time_min = 0;    // us since the epoch
    std::string monitor_output;         // folder
    bool has_snapshots = false;         // of its usage
    std::string coprocess;              // of a remote task; empty: it is none
    std::int64_t first = 0;             // of a range
    std::int64_t last = 0;

    // Whatever the manager measures.
    bool is_measured() const { return has_snapshots || !monitor_output.empty(); }
};

// Results of the task.
struct TaskReport {
    TaskResult result = TaskResult::unknown;
    int exit_status = 0;
    int return_status = -1;
    std::uint32_t attempts = 0;
    std::uint32_t exhausted_attempts = 0;
    mutable std::string output;  // large ones are copied here when the program wants them in memory
    mutable std::string error_output;
    std::array<std::shared_ptr<const records::journal::MappedFile>, 2>
        large;  // see records::recorder::LargeText
    std::string packed_result;
    std::string reason;
    std::string host;
    std::string hostname;
    TaskResources allocated;
    TaskUsage usage;
    std::optional<engine::model::MonitorReport> monitor;
    TaskResources exceeded;
    std::int64_t submit_time = 0;
    std::int64_t commit_time = 0;
    std::int64_t execute_start = 0;
    std::int64_t finish_time = 0;
    std::int64_t return_time = 0;
    std::int64_t bytes_sent = 0;      // of its files
    std::int64_t bytes_received = 0;  // of its files and its output
    std::int64_t index = 0;
    RangeProgress progress;
    std::shared_future<void> summary;  // ready once the summary is written; invalid: no summary is wanted
};

struct TaskData {
    TaskKind kind = TaskKind::command;
    CallMode mode = CallMode::fork;
    // Only calls that name its tag or its id return it: it is a part of a larger call, such as a map, which
    // must get it, whoever else waits for tasks.
    bool by_tag_only = false;
    std::uint32_t exhausted = 0;  // attempts that exceeded their allocation, except the last one
    std::int64_t id = 0;
    std::string text;                          // the command or the function
    std::string arguments;                     // of a call: msgpack; of a remote task: its event as JSON
    std::shared_ptr<const MemoryFile> memory;  // the rest of the arguments, until it has ended; null: none
    std::string tag;
    std::string category{"default"};
    double priority = 0;
    std::unique_ptr<TaskSpecs> specs;
    std::unique_ptr<TaskReport> report;

    // Neighbours in the list of its tag; see submitted_tasks.h.
    TaskData* before = nullptr;
    TaskData* after = nullptr;

    files::trees::TaskFiles& edit_files() {
        std::shared_ptr<files::trees::TaskFiles>& files = edit_specs().files;
        if (!files)
            files = std::make_shared<files::trees::TaskFiles>();
        else if (files.use_count() > 1)
            files = std::make_shared<files::trees::TaskFiles>(*files);
        return *files;
    }
    TaskSpecs& edit_specs() {
        if (!specs) specs = std::make_unique<TaskSpecs>();
        return *specs;
    }
    TaskReport& edit_report() {
        if (!report) report = std::make_unique<TaskReport>();
        return *report;
    }
    std::string text_for_people() const { return kind == TaskKind::call ? text + "(...)" : text; }
    bool remote() const { return specs && !specs->coprocess.empty(); }
    // Number of core tasks that it stands for.
    std::uint64_t count() const {
        return kind == TaskKind::range
                   ? static_cast<std::uint64_t>(specs->last) - static_cast<std::uint64_t>(specs->first)
                   : 1;
    }
};

// Its text, settings and report.
std::unique_ptr<TaskData> copy_of(const TaskData& from);

// As in Work Queue's resource summaries: "normal", "signal" or "limits".
const char* exit_type(const Task& ended);

// Gives the library access to a Task's data.
struct TaskAccess {
    static std::unique_ptr<TaskData> take(Task&& task) {
        task.own();
        return std::move(task.data_);
    }
    static Task wrap(std::unique_ptr<TaskData> data) { return Task(std::move(data)); }
    static const TaskData& data(const Task& task) { return task.seen(); }
};

}  // namespace wq

// A run as it was at a moment, counted for its tables: tasks, workers, failures and what waits. Attempts that
// ended later run at that moment, or do not exist yet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/model/waiting.h"
#include "views/model/run_view.h"

namespace wq::views::terminal {

// Of tasks that have been dispatched or have ended; retried: waits for its next attempt.
enum class TaskState : std::uint8_t { running, retried, failed, succeeded };
inline constexpr std::array task_states{TaskState::running, TaskState::retried, TaskState::failed,
                                        TaskState::succeeded};
const char* name_of(TaskState state);

struct TaskRow {
    std::uint64_t task = 0;
    std::uint32_t first = 0;     // place of its first attempt in RunMoment::by_task
    std::uint32_t attempts = 0;  // and how many there are
    std::uint32_t shown = 0;     // place in RunView::attempts of the one that says how the task is
    TaskState state = TaskState::running;
};

enum class WorkerState : std::uint8_t { busy, idle, draining, excluded, disconnected, left };
const char* name_of(WorkerState state);

struct WorkerRow {
    std::uint32_t worker = 0;  // place in RunView::workers
    WorkerState state = WorkerState::idle;
    std::uint32_t running = 0;
    std::uint64_t succeeded = 0, failed = 0;  // attempts
    std::int64_t cores_busy = 0;              // thousandths, at most those that it offers
};

// Failed attempts of one category and one kind.
struct FailureRow {
    std::uint32_t category = model::no_place;
    std::string what;  // "exit 3"
    std::uint64_t attempts = 0;
    std::uint64_t tasks = 0;  // that are not retried
    // Places in RunView::attempts: the last attempt of each task, the last first; at most `examples`.
    std::vector<std::uint32_t> latest;
    std::vector<std::string> hosts;  // that most of them ran on, at most examples
    std::size_t host_count = 0;
    static constexpr std::size_t examples = 5;
};

struct WaitingRow {
    std::uint32_t ask = model::no_place;
    engine::model::WaitReason reason = engine::model::WaitReason::busy;
    std::uint64_t tasks = 0;
    WallMicros since = 0;  // of this number
};

struct HostRow {
    std::string host;
    std::int64_t cores = 0, cores_busy = 0;  // thousandths
    std::uint32_t workers = 0;
};

struct RunCounts {
    std::int64_t submitted = model::not_recorded;
    std::int64_t done = 0;    // ended for good
    std::int64_t failed = 0;  // of these
    std::int64_t running = 0;
    std::int64_t waiting = model::not_recorded;
};

struct RunMoment {
    WallMicros at = 0;
    Duration elapsed{};  // without the pauses between sessions
    RunCounts counts;
    double rate = 0;                         // tasks that ended for good, a second, of the last minute
    std::optional<Duration> left;            // until the last task ends, if the rate stays
    std::int64_t cores_busy = 0;             // thousandths, of all hosts
    bool knows_running = true;               // false: tasks run, but the source does not say which
    bool knows_hosts = false;                // how many cores of each host are busy
    std::vector<std::uint32_t> by_task;      // places in RunView::attempts
    std::vector<TaskRow> tasks;              // by number
    std::vector<WorkerRow> workers;          // that had joined
    std::vector<FailureRow> failures;        // the most frequent first
    std::vector<WaitingRow> waiting;         // the most tasks first
    std::vector<HostRow> hosts;              // of workers that are there, by name
    std::vector<std::uint32_t> last_failed;  // places in RunView::attempts, the last first; a few
};

// `cut`: the moment; nullopt: the last that is known. Costs O(n log n) for n attempts.
RunMoment moment_of(const model::RunView& run, std::optional<WallMicros> cut);

// "exit 3", "signal 11 (SIGSEGV)", "timed out", "succeeded".
std::string ending_text(const model::RunAttempt& attempt);

// Names for people: "-" if there is none.
std::string category_text(const model::RunView& run, std::uint32_t category);
std::string host_text(const model::RunView& run, std::uint32_t worker);

}  // namespace wq::views::terminal

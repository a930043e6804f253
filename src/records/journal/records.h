// A task's number wherever a user reads or types it: joblog.tsv (Seq), transactions.log, output.log,
// stats.h5, `--output`. Numbers start at 1, as in GNU parallel and Work Queue; ids start at 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "engine/model/first_allocation.h"
#include "engine/model/manager_stats.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"
#include "engine/model/waiting.h"

namespace wq::records::journal {

// A task of an earlier run that is not in the list any more has number 0.
inline constexpr TaskId not_listed{~std::uint64_t{0}};

constexpr std::uint64_t task_number(TaskId task) {
    return task.value() + 1;
}

// The records of a run: one TaskRecord per ended attempt, one WorkerRecord per worker, and the manager's
// time series. The journal holds the first two completely, so that everything else can be rebuilt from it.

// What identifies a task across runs of an edited list.
struct TaskKey {
    // Lines of a list: hash of the line's text mixed with the number of equal lines above it. Items of
    // --array: the index itself, so that ranges stay ranges.
    std::uint64_t value = 0;
    bool operator==(const TaskKey&) const = default;
};

// Bytes and durations of an attempt's file transfers.
struct FileTraffic {
    std::int64_t bytes_sent = 0;
    std::int64_t bytes_received = 0;
    std::int64_t send_us = 0;
    std::int64_t receive_us = 0;
};

// What tasks ask for: tasks of one ask wait for the same resources. The ids apply to the records after it, as
// those of categories.
using AskId = Id<struct AskTag, std::uint32_t>;
inline constexpr AskId no_ask{0};  // ids begin at 1
inline constexpr std::uint32_t most_asks = 1000;
inline constexpr AskId further_ask{most_asks};  // all asks beyond the first 999

struct AskRecord {
    AskId ask;
    engine::model::Needs needs;  // as the tasks say; -1: not specified, so their category or worker decides
    std::vector<std::string> features;
};

struct TaskRecord {
    TaskId task;
    TaskKey key;
    Attempt attempt = 1;
    bool final = true;       // false: another attempt follows
    WorkerId worker;         // meaningless if outcome.ending is never_ran; may be unknown_worker
    std::uint64_t line = 0;  // line in the list, from 1; 0: the task is not from a list
    CategoryId category;
    engine::model::Resources given;
    WallMicros submitted_us = 0;
    WallMicros dispatched_us = 0;
    WallMicros received_us = 0;  // when the manager learned of its end
    engine::model::Outcome outcome;
    // Since when this attempt could have been dispatched: no earlier task, start time or earlier attempt of
    // the task was in its way; 0: not recorded.
    WallMicros ready_us = 0;
    AskId ask;  // what it asks for; no_ask: not recorded
    // Not in the journal:
    bool out_of_tries = false;  // final because the tries are used up
    FileTraffic files{};
    std::optional<engine::model::MonitorReport> monitor{};
};

// Calls of a range that succeeded as attempt 1 on one worker.
struct RangeRecord {
    WorkerId worker;
    IntervalSet tasks;
    CategoryId category;
    engine::model::Resources given;  // each
    WallMicros started_us = 0;
    std::int64_t wall_us = 0;  // summed, like the next two
    std::int64_t user_us = 0;
    std::int64_t system_us = 0;
    std::int64_t peak_memory_kb = 0;  // the largest
    WallMicros received_us = 0;
};

// Why a worker left, in the terms of Work Queue's transactions log.
enum class Departure : std::uint8_t {
    unknown,   // it has not left, or the journal is old
    idle_out,  // it got no task for too long
    failure,   // it was lost
    asked,     // EXPLICIT: it was told to leave, by us or on its own host
};

constexpr Departure last_of(Departure) {
    return Departure::asked;
}

inline constexpr std::uint32_t no_rank = UINT32_MAX;  // of a TCP worker

struct WorkerRecord {
    WorkerId worker;
    std::string host;
    std::string address;  // "node3:rank 5" or "10.0.0.7:40112"
    std::uint32_t rank = no_rank;
    engine::model::Resources offers;
    WallMicros joined_us = 0;
    WallMicros left_us = 0;  // 0: it has not left
    std::string why_left;
    std::uint64_t tasks_done = 0;
    // Of its process and its batch job, by the manager's clock; 0: not known.
    WallMicros process_started_us = 0;
    WallMicros job_started_us = 0;
    WallMicros job_ends_us = 0;        // its limit; a job may end earlier
    std::int64_t allocated_cores = 0;  // to the batch job on its host; 0: not known
    std::string job{};                 // its id in the batch system; empty: none
    // Not recorded:
    std::string os{}, arch{};
    Departure departure = Departure::unknown;
};

// X(name, meaning)
#define WQ_WORKER_CHANGES(X)                                    \
    X(joined, "connected for the first time")                   \
    X(draining, "gets no more tasks, because it leaves soon")   \
    X(stays, "gets tasks again after draining")                 \
    X(excluded, "its host gets no tasks")                       \
    X(admitted, "its host gets tasks again")                    \
    X(disconnected, "its connection is lost; it may come back") \
    X(back, "it is connected again")                            \
    X(left, "gone for good")

enum class WorkerChange : std::uint8_t {
#define WQ_CHANGE(name, meaning) name,
    WQ_WORKER_CHANGES(WQ_CHANGE)
#undef WQ_CHANGE
};
constexpr WorkerChange last_of(WorkerChange) {
    return WorkerChange::left;
}
inline const char* name_of(WorkerChange change) {
#define WQ_NAME(name, meaning) \
    if (change == WorkerChange::name) return #name;
    WQ_WORKER_CHANGES(WQ_NAME)
#undef WQ_NAME
    return "unknown";
}

struct WorkerChangeRecord {
    WallMicros time_us = 0;
    WorkerId worker;
    WorkerChange change = WorkerChange::joined;
    std::string why;
};

// So many tasks of an ask wait for this reason, until the next record of both. Written with samples, if the
// number has changed since the last one.
struct WaitingRecord {
    WallMicros time_us = 0;
    AskId ask;  // no_ask: of any
    engine::model::WaitReason reason = engine::model::WaitReason::busy;
    std::uint64_t tasks = 0;
};

// The name of a category id. It applies to the task records after it: a resumed run assigns the ids anew.
struct CategoryRecord {
    CategoryId category;
    std::string name;
    // The allocation of its tasks, from settings and measurements.
    engine::model::AllocationMode mode = engine::model::AllocationMode::fixed;
    engine::model::Sizes max{};
    engine::model::Sizes min{};
    engine::model::Sizes first{};  // of a first attempt; may be whole_worker
    WallMicros changed_us = 0;     // 0: nothing was set or measured
};

struct Sample {
    WallMicros time_us = 0;
    engine::model::ManagerStats stats;
};

}  // namespace wq::records::journal

// A task's number wherever a user reads or types it: joblog.tsv (Seq), transactions.log, output.log,
// stats.h5, `--output`. Numbers start at 1, as in GNU parallel and Work Queue; ids start at 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "engine/model/first_allocation.h"
#include "engine/model/manager_stats.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"

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
    // Not recorded:
    std::string job{};  // its id in the batch system; empty: none
    std::string os{}, arch{};
    Departure departure = Departure::unknown;
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

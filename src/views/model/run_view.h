// What a run did and does, as values: its attempts, workers, categories, what waits and why. Readers make a
// RunView from a run directory, live or ended (stats_run.h), or from a transactions log
// (transactions_run.h); pages, reports and the account are made from it alone.
//
// All times are microseconds since 1970 by the manager's clock; 0: not known, or it did not happen. Sizes are
// MB of 2^20 bytes, cores and GPUs thousandths. Unless noted, -1 means: not recorded. What a source has not
// recorded is never shown as 0: RunView::lacks says what is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/model/manager_stats.h"
#include "engine/model/outcome.h"
#include "engine/model/waiting.h"
#include "records/journal/records.h"

namespace wq::views::model {

inline constexpr std::int64_t not_recorded = -1;
inline constexpr std::uint32_t no_place = UINT32_MAX;  // in one of the tables of a RunView

// An attempt that has ended, or (RunAttempt::received == 0) runs. `calls` > 1: successes of a range of calls
// in one row: `task` is the lowest, cpu_us and wall_us are sums. A run may have millions: it is kept small.
struct RunAttempt {
    std::uint64_t task = 0;  // its number, from 1
    std::int64_t line = 0;   // of the task list, from 1; 0: none
    WallMicros submitted = 0;
    WallMicros ready = 0;       // could have been dispatched
    WallMicros dispatched = 0;  // 0: never
    WallMicros inputs_there = 0;
    WallMicros started = 0;  // its process, 0: never
    WallMicros ended = 0;    // its process
    WallMicros outputs_there = 0;
    WallMicros received = 0;  // its end is known to the manager
    std::int64_t wall_us = not_recorded;
    std::int64_t cpu_us = not_recorded;  // user and system
    // Allocated, and the most that it used.
    std::int64_t memory_mb = not_recorded, disk_mb = not_recorded;
    std::int64_t memory_peak_mb = not_recorded, disk_peak_mb = not_recorded;
    std::int64_t bytes_in = not_recorded, bytes_out = not_recorded;  // of files
    std::int32_t cores = 0, gpus = not_recorded;
    std::int32_t cores_peak = not_recorded;
    std::uint32_t attempt = 1;
    std::uint32_t calls = 1;
    std::uint32_t category = no_place;  // place in RunView::categories
    std::uint32_t worker = no_place;    // place in RunView::workers
    std::uint32_t ask = no_place;       // place in RunView::asks
    std::int32_t exit_code = 0;
    std::int16_t disk_wait = not_recorded;  // of a thousand samples, those in state D
    std::uint16_t signal = 0;
    engine::model::Ending ending = engine::model::Ending::exited;
    bool is_final = true;      // no further attempt follows
    bool is_accepted = false;  // the success of its task that counts

    bool succeeded() const { return ending == engine::model::Ending::exited && exit_code == 0; }
};

struct RunWorkerChange {
    WallMicros time = 0;
    records::journal::WorkerChange change = records::journal::WorkerChange::joined;
    std::string why;
};

struct RunWorker {
    std::uint32_t id = 0;  // ids begin anew with each session of a resumed run
    std::uint32_t rank = records::journal::no_rank;
    std::string host;
    std::string address;
    std::string job;  // of its batch system
    std::string why_left;
    std::int64_t cores = 0, gpus = 0, memory_mb = 0, disk_mb = 0;  // offered
    std::int64_t coprocesses = not_recorded;
    std::int64_t allocated_cores = not_recorded;  // to its batch job on its host
    WallMicros job_started = 0, job_ends = 0;
    WallMicros process_started = 0;
    WallMicros joined = 0;
    WallMicros left = 0;  // 0: still there
    std::vector<RunWorkerChange> changes{};
};

struct RunCategory {
    std::string name;
};

struct RunAsk {
    engine::model::Needs needs;  // -1: not specified
    std::string features;
};

struct RunTransfer {
    WallMicros time = 0;  // its end
    std::int64_t wall_us = 0;
    std::uint64_t task = 0;
    std::uint64_t bytes = 0;
    std::uint32_t worker = no_place;
    bool is_input = true;
    std::string name;
};

// Holds until the next entry of the same ask and reason.
struct RunWaiting {
    WallMicros time = 0;
    std::uint64_t tasks = 0;
    std::uint32_t ask = no_place;  // no_place: of any
    engine::model::WaitReason reason = engine::model::WaitReason::busy;
};

// A manager's life: a resumed run has several.
struct RunSession {
    WallMicros begin = 0;
    WallMicros end = 0;  // the last that is known of it
};

struct RunSample {
    WallMicros time = 0;
    engine::model::ManagerStats stats;
};

struct RunView {
    std::string title;  // the list's name
    std::string path;   // what was read
    std::string host;   // of the manager
    std::vector<RunSession> sessions;
    bool has_file_times = true;        // 0 in inputs_there and outputs_there: there were no files
    bool is_live = false;              // its manager had the file open when it was read
    WallMicros read_at = 0;            // when
    WallMicros begin = 0;              // of the first session
    WallMicros end = 0;                // the last that is known
    std::vector<RunAttempt> attempts;  // by their ends
    std::vector<RunWorker> workers;    // by joined
    std::vector<RunCategory> categories;
    std::vector<RunAsk> asks;
    std::vector<RunTransfer> transfers;
    std::vector<RunWaiting> waiting;  // by time
    std::vector<RunSample> samples;   // by time
    std::vector<std::string> lacks;   // what the source does not have, one line each, with the remedy
};

}  // namespace wq::views::model

// RUN_DIR/status: the state of the run as `key=value` lines that a shell can source. It is replaced by
// rename, so it is always complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "engine/model/manager_stats.h"

namespace wq::records::journal {

struct RunStatus {
    std::string state;             // "running", "finished", "interrupted", "failed"
    std::optional<int> exit_code;  // nullopt while it runs
    WallMicros started_us = 0;
    WallMicros ended_us = 0;            // 0: it has not ended
    WallMicros written_us = 0;          // set by write_status()
    engine::model::ManagerStats tasks;  // only the counts of tasks
    bool total_known = true;            // false: more tasks may follow
    double tasks_per_second = -1;       // ended ones, lately; -1: unknown
    std::string message;                // one line, the reason of the end; may be empty
    std::string host{};                 // of the process that wrote it, as its pid; set by write_status()
    std::int64_t pid = 0;
};

// Adds host, pid and the time of writing.
Status write_status(const std::string& run_directory, const RunStatus& status);
// Error bad_input: missing or unreadable.
Result<RunStatus> read_status(const std::string& run_directory);

std::string host_name();
// A process of this host that is not there; false for those of other hosts.
bool is_gone(const std::string& host, std::int64_t pid);
std::string user_name();                  // of this process; its number if it has no name
std::string format_utc(WallMicros time);  // 2026-11-20T09:48:00Z

// How a run ended, for workers and factories that have its contact file. A run removes the contact file when
// it ends; the answer then comes from the status file beside it. resumable: workers may wait for the run;
// over: nobody needs workers any more; no: the run lives, is not there yet, or is the manager of a program.
enum class RunEnd : std::uint8_t { no, resumable, over };
RunEnd end_of_run(const std::string& contact);

}  // namespace wq::records::journal

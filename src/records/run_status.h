// RUN_DIR/status: the state of the run as `key=value` lines that a shell can source. It is replaced by
// rename, so it is always complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace wq::records {

struct RunStatus {
    std::string state;             // "running", "finished", "interrupted", "failed"
    std::optional<int> exit_code;  // nullopt while it runs
    WallMicros started_us = 0;
    WallMicros ended_us = 0;        // 0: it has not ended
    std::uint64_t tasks_total = 0;  // that were read so far
    std::uint64_t tasks_done = 0;   // including failed ones
    std::uint64_t tasks_failed = 0;
    std::string message;  // one line, the reason of the end; may be empty
};

// Adds host, pid and the time of writing.
Status write_status(const std::string& run_directory, const RunStatus& status);
// Error bad_input: missing or unreadable.
Result<RunStatus> read_status(const std::string& run_directory);

std::string host_name();
std::string format_utc(WallMicros time);  // 2026-11-20T09:48:00Z

}  // namespace wq::records

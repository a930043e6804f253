// RUN_DIR/status: what became of the run, as `key=value` lines that a shell can source. Always whole: it is
// renamed into place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace wq::stats {

struct RunStatus {
    std::string state;             // "running", "finished", "interrupted", "failed"
    std::optional<int> exit_code;  // none while it runs
    WallMicros started_us = 0;
    WallMicros ended_us = 0;       // 0: not ended
    std::uint64_t tasks_done = 0;  // ended for good, failed ones too
    std::uint64_t tasks_failed = 0;
    std::string message;  // one line, why it ended so; may be empty
};

// Also says host, pid and when it was written.
Status write_status(const std::string& run_directory, const RunStatus& status);
// Error bad_input: none there, or not readable.
Result<RunStatus> read_status(const std::string& run_directory);

std::string host_name();
std::string format_utc(WallMicros time);  // 2026-11-20T09:48:00Z

}  // namespace wq::stats

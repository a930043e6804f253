// The progress of a run on stderr: one line that is rewritten on a terminal, else a plain line per minute
// or second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/manager_stats.h"
#include "core/worker_table.h"

namespace wq::report {

// Whether the stderr of the run ends at a terminal. Under mpirun a rank's stderr is a pipe to mpirun, so
// mpirun's own is looked at; a rank's stdout is a pty there whatever mpirun's is.
bool stderr_ends_at_terminal();

// "412 succeeded, 3 failed, 2 running of 1,000 | 41% | 210/s | 3s left | 2s elapsed". The total is unknown
// while a stream goes on.
std::string progress_text(const core::ManagerStats& stats, bool total_known, Duration elapsed, double rate);

// "4 on a disconnected worker (up to 57s to reconnect)": tasks that run unseen. Empty: there are none.
std::string disconnected_text(const core::WorkerTable& workers, Instant now);

class ProgressLine {
  public:
    enum class Style { rewritten, every_minute, every_second, none };
    ProgressLine(Style style, Instant started);

    std::optional<Instant> wakeup() const;
    void update(const core::ManagerStats& stats, const core::WorkerTable& workers, bool total_known,
                Instant now);
    // A line of text among them.
    void say(const std::string& text);
    // The last state, and an end of the rewritten line.
    void finish(const core::ManagerStats& stats, Instant now);

  private:
    double rate(const core::ManagerStats& stats, Instant now);
    void write(const std::string& text);

    Style style_;
    Instant started_;
    Instant next_;
    bool line_open_ = false;
    std::int64_t last_done_ = 0;
    Instant last_at_;
    double rate_ = -1;  // tasks a second, weighted towards the recent; -1: unknown
};

}  // namespace wq::report

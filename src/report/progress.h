// The progress of a run on stderr: on a terminal one line that is rewritten, otherwise a plain line per
// minute or second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/manager_stats.h"
#include "core/worker_table.h"

namespace wq::report {

// Whether the run's stderr ends at a terminal. Under mpirun a rank's stderr is a pipe to mpirun, so mpirun's
// own stderr is checked. (A rank's stdout is always a pty there, so it says nothing.)
bool stderr_ends_at_terminal();

// "412 succeeded, 3 failed, 2 running of 1,000 | 41% | 210/s | 3s left | 2s elapsed". A stream's total is
// unknown until it ends.
std::string progress_text(const core::ManagerStats& stats, bool total_known, Duration elapsed, double rate);

// "2 ranks, 5 workers": connected ones; workers are those that joined by themselves.
std::string workers_text(const core::WorkerTable& workers);

// "4 on a disconnected worker (up to 57s to reconnect)": tasks that run unseen. Empty: none.
std::string disconnected_text(const core::WorkerTable& workers, Instant now);

class ProgressLine {
  public:
    enum class Style { rewritten, now_and_then, every_second, none };
    ProgressLine(Style style, Instant started);

    std::optional<Instant> wakeup() const;
    // `more`: parts to show besides; empty ones are left out.
    void update(const core::ManagerStats& stats, bool total_known, const std::vector<std::string>& more,
                Instant now);
    // Prints a line between progress lines.
    void say(const std::string& text);
    // Prints the last state and ends the rewritten line.
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
    double rate_ = -1;  // tasks per second, with more weight on recent ones; -1: unknown
};

}  // namespace wq::report

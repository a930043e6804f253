// The progress of a run on stderr: on a terminal one line that is rewritten, otherwise a plain line per
// minute or second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/model/manager_stats.h"
#include "engine/model/worker_table.h"
#include "records/journal/run_status.h"

namespace wq::manager::report {

// Whether the run's stderr ends at a terminal. Under mpirun a rank's stderr is a pipe to mpirun, so mpirun's
// own stderr is checked. (A rank's stdout is always a pty there, so it says nothing.)
bool stderr_ends_at_terminal();

enum class Total : std::uint8_t { grows, known };  // of tasks: that of a stream is known when it ends

// "412 succeeded, 3 failed, 2 running of 1,000 | 41% | 210/s | 3s left | 2s elapsed". `rate`: ended tasks
// per second; 0 or less: not known.
std::string progress_text(const engine::model::ManagerStats& stats, Total total,
                          std::optional<Duration> elapsed, double rate);
// Nothing: not known.
std::optional<double> seconds_left(const engine::model::ManagerStats& stats, Total total, double rate);

// "2 ranks, 5 workers": connected ones; workers are those that joined by themselves.
std::string workers_text(const engine::model::WorkerTable& workers);

// "4 on a disconnected worker (up to 57s to reconnect)": tasks that run unseen. Empty: none.
std::string disconnected_text(const engine::model::WorkerTable& workers, Instant now);

// Ended attempts of this run per second, with more weight on the last seconds.
class RecentRate {
  public:
    explicit RecentRate(Instant started) : last_at_(started) {}
    double update(std::uint64_t ended, Instant now);  // -1: not known yet

  private:
    std::uint64_t last_ended_ = 0;
    Instant last_at_;
    double rate_ = -1;
};

class ProgressLine {
  public:
    enum class Style { rewritten, now_and_then, every_second, none };
    ProgressLine(Style style, Instant started);

    std::optional<Instant> wakeup() const;
    // `ended`: attempts of this run. `more`: parts to show besides; empty ones are left out.
    void update(const engine::model::ManagerStats& stats, Total total, std::uint64_t ended,
                const std::vector<std::string>& more, Instant now);
    // Prints a line between progress lines.
    void print_line(const std::string& text);
    // While another program has the terminal, lines are kept, and no progress is printed.
    void hold() { is_held_ = true; }
    void release();
    // Prints the last state and ends the rewritten line.
    void finish(const engine::model::ManagerStats& stats, std::uint64_t ended, Instant now);

  private:
    void write(const std::string& text);

    Style style_;
    Instant started_;
    Instant next_;
    bool line_open_ = false;
    bool is_held_ = false;
    std::vector<std::string> held_;
    RecentRate rate_;
};

// What a run looks like from elsewhere: state, progress, rate and time left.
struct RunProgress {
    std::string run;                     // what the user named
    records::journal::RunStatus status;  // "running", also if it was killed
    std::optional<Duration> age{};       // of these figures; nothing: they are of now
    bool live = false;                   // as far as is known
    std::optional<Duration> elapsed{};
};

// A directory of a run, by its status. Error bad_input: there is none.
Result<RunProgress> view_of_directory(const std::string& run_directory);

std::string view_text(const RunProgress& view);  // a line
std::string view_json(const RunProgress& view);  // an object

}  // namespace wq::manager::report

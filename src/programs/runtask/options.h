// The command line of runtask.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/store/list_place.h"
#include "shared_list/text/marked_line.h"

namespace wq::programs::runtask {

struct Options {
    enum class Mode { run, help, version, lock, reset, release, status, check };
    Mode mode = Mode::run;
    shared_list::store::ListPlace list;

    std::string name;    // of the worker; empty: a default
    bool named = false;  // by --name, not by the variable
    std::optional<shared_list::text::WorkerId> id;
    bool once = false;
    bool serve = false;  // for workers over TCP
    std::uint64_t jobs = 1;
    std::uint64_t retries = 0;
    std::optional<Duration> timeout;            // of a line
    Duration lease = std::chrono::minutes(10);  // 0: never
    Duration poll = std::chrono::seconds(3);    // how often to look for new lines
    std::uint64_t reset_from = 0;               // Mode::reset
    bool dot = false;                           // Mode::check: the graph of groups alone
    shared_list::text::WorkerId released = 0;   // Mode::release
    bool force = false;                         // Mode::reset, Mode::release: also if workers live
};

// The value of an environment variable; empty: it is not set.
using Environment = std::function<std::string(const char* name)>;

// Error (usage): in one line.
Result<Options> parse_options(int argc, const char* const* argv, const Environment& environment);
std::string help();

// `mpirun runtask FILE` and `runtask --serve FILE`: work_queue_run gives the lines to ranks and to workers
// over TCP. runtask itself stays one file without MPI.

// Whether a launcher has started this process as one of several, or the lines are for other workers.
bool needs_manager(const Options& options);

// The command line of work_queue_run for it. Error usage: an option of a single worker.
Result<std::vector<std::string>> manager_command(const Options& options);

// Becomes work_queue_run, which is looked for beside this program, and then in PATH. Returns why it cannot.
Error become_manager(const Options& options);

}  // namespace wq::programs::runtask

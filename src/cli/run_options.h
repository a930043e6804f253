// The command line of work_queue_run as a struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/events.h"
#include "launcher/launcher.h"
#include "run/source.h"

namespace wq::cli {

enum class Progress { automatic, always, never };
enum class Tickets { automatic, rma, message };
enum class Plots { automatic, always, never };

struct RunOptions {
    run::SourceSpec source;
    run::TaskDefaults defaults;
    std::string run_directory;  // empty: by the source's name
    bool resume = false;
    bool resume_failed = false;
    std::uint32_t max_losses = 3;
    bool halt_on_failure = false;
    bool keep_hosts = false;      // also those that fail what succeeds elsewhere
    core::Monitoring monitoring;  // of tasks
    bool ends_none = false;       // --monitor=measure: whatever they say of their memory
    std::string monitor_output;   // folder for a report on each task; empty: none
    double speculate = 0;         // copies of tasks that run for so many times the mean; 0: none
    bool manager_only = false;
    std::optional<std::uint16_t> listen;             // take workers over TCP at this port; 0: any free one
    std::string name;                                // under which such workers find the run; empty: none
    Duration away_limit = std::chrono::seconds(60);  // of such a worker, whose link is cut
    Tickets tickets = Tickets::automatic;
    std::optional<Duration> walltime;
    Duration grace = std::chrono::seconds(10);
    Duration storage_retry_limit = std::chrono::seconds(60);
    std::optional<machine::Binding> bind;         // nothing: to cores, where each rank has its own
    std::optional<std::size_t> threads_per_core;  // nothing: all of them
    std::string index_variable;                   // a further name of WORK_QUEUE_TASK_INDEX; empty: none
    std::string shell;                            // empty: bash, else sh
    std::string stats_log;
    std::uint64_t output_limit = 8u << 20;
    Progress progress = Progress::automatic;
    Plots plots = Plots::automatic;
    bool dry_run = false;
    bool json = false;
    bool verbose = false;
};

// What the user wants at all.
struct Command {
    enum class Kind { run, help, version, output, why };
    Kind kind = Kind::run;
    RunOptions run;
    std::string output_directory;  // of --output
    std::uint64_t output_task = 0;
    std::uint64_t why_line = 0;  // of --why
};

// Errors (usage) are one line and end with how to get help.
Result<Command> parse_command_line(int argc, const char* const* argv);

std::string help_text();

}  // namespace wq::cli

// The command lines of work_queue_run that only ask about a run: --output, --why and --status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/model/events.h"
#include "manager/run/source.h"
#include "node/launcher/launcher.h"

namespace wq::programs::run {

// The command line of work_queue_run as a struct.
enum class Progress { automatic, always, never };
enum class TicketMode { automatic, rma, message };
enum class Plots { automatic, always, never };

// Workers of a batch system, by a factory beside the run.
struct Grow {
    std::string system;  // or the path of a driver
    std::int64_t least = 0;
    std::int64_t most = 0;
    std::string options;  // more of work_queue_factory's, as a shell reads them
};

// A list that workers of `runtask` mark, too.
struct SharedList {
    bool once = false;  // end when nothing is left that a worker of the run may run
    Duration poll = std::chrono::seconds(3);
    Duration lease = std::chrono::minutes(10);
};

struct RunOptions {
    manager::run::SourceSpec source;
    SharedList shared;  // for a source of that kind
    manager::run::TaskDefaults defaults;
    std::string run_directory;  // empty: derived from the source's name
    bool resume = false;
    bool resume_failed = false;
    std::uint32_t max_losses = 3;
    std::uint64_t jobs = 0;  // run at most so many tasks at once; 0: as many as fit
    bool halt_on_failure = false;
    bool keep_hosts = false;  // never exclude hosts, even if tasks that fail there succeed elsewhere
    engine::model::Monitoring monitoring;  // of tasks
    bool ends_none = false;                // --monitor=measure: kill no task for its memory
    std::string monitor_output;            // folder for a report per task; empty: none
    double speculate = 0;  // speculative copies of tasks that run for this many times the mean; 0: none
    bool manager_only = false;
    std::optional<std::uint16_t> listen;  // accept TCP workers at this port; 0: any free one
    std::optional<Grow> grow;             // more workers from a batch system
    std::string name;                     // TCP workers find the run by this name; empty: none
    std::string catalog;                  // and at these servers; empty: $CATALOG_HOST
    std::string password_file;            // its content is the run's key; empty: a new key
    Duration disconnect_limit = std::chrono::seconds(60);  // in which a TCP worker may reconnect
    TicketMode tickets = TicketMode::automatic;
    std::optional<Duration> walltime;
    Duration grace = std::chrono::seconds(10);
    Duration storage_retry_limit = std::chrono::seconds(60);
    std::optional<node::machine::Binding> bind;   // nothing: to cores, if each rank has its own
    std::optional<std::size_t> threads_per_core;  // nothing: all
    std::string index_variable;                   // another name of WORK_QUEUE_TASK_INDEX; empty: none
    std::string shell;                            // empty: bash, else sh
    std::string stats_log;
    std::uint64_t output_limit = 8u << 20;
    Progress progress = Progress::automatic;
    Plots plots = Plots::automatic;
    bool dry_run = false;
    bool json = false;
    bool watch = false;
    bool verbose = false;
};

// The parsed command line.
struct Command {
    enum class Kind { run, help, version, output, why, status };
    Kind kind = Kind::run;
    RunOptions run;
    std::string output_directory;  // for --output
    std::uint64_t output_task = 0;
    std::uint64_t why_line = 0;  // for --why
    std::string status_of;       // for --status
};

// Errors (usage) have one line, which ends with how to get help.
Result<Command> parse_command_line(int argc, const char* const* argv);

std::string help_text();

}  // namespace wq::programs::run

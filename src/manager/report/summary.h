// "To continue, run: ...": what the user does after an unfinished run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/events.h"
#include "engine/model/manager_stats.h"
#include "manager/failures.h"
#include "manager/manager.h"

namespace wq::manager::report {

// How the user started this program.
struct StartedAs {
    std::vector<std::string> command_line;  // as typed, starting with this program
    std::string launcher;                   // "mpirun", "srun"; empty: no launcher
    bool by_job_script = false;             // of a batch system
};

// The command with `option`, unless it has it already: "run: work_queue_run --resume tasks.sh". A launcher's
// options are unknown, so under a launcher it is "run: the same mpirun command with ...". In a batch job:
// "submit the job script again".
std::string how_to_go_on_with(const StartedAs& started, const std::string& option);

// The summary of a run, for people and for programs.

// As in `work_queue_status -A`.
struct CategoryFigures {
    std::string name;
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    std::int64_t fit_workers = 0;
    std::string max_cores, max_memory, max_disk;  // "4", "~1011", ">243", "na"
};
// Empty if no category has settings and nothing is measured.
std::vector<CategoryFigures> category_figures(const manager::Manager& manager, bool measured);

struct Summary {
    engine::model::ManagerStats stats;
    std::uint64_t succeeded_earlier = 0;  // in an earlier run
    std::uint64_t skipped = 0;            // can never run
    std::uint64_t unrecorded = 0;         // ended, but not written to the journal: not in `stats`
    std::uint64_t stale_reports = 0;
    std::uint64_t attempts = 0;           // ended in this run: its rows of joblog.tsv
    std::uint64_t outputs_truncated = 0;  // tasks with more output than is kept
    std::uint64_t output_limit = 0;       // bytes per stream
    double seconds = 0;
    ExitCode code = ExitCode::ok;
    std::optional<engine::model::StopReason> stopped;
    std::string run_directory;
    std::string shared_list;  // the list that is marked, and so says what is left to do; empty: none is
    StartedAs started;
    std::vector<std::string> plots;  // paths
    std::string report;              // path of the page; "": none
    const manager::Failures* failures = nullptr;
    std::vector<CategoryFigures> categories;
};

const char* name_of(engine::model::StopReason reason);  // "interrupted", "out of time", ...

std::string summary_text(const Summary& summary);
// One JSON object; "schema": 1. Fields are added, never removed.
std::string summary_json(const Summary& summary);

}  // namespace wq::manager::report

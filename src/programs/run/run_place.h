// The directory of a run, and the results of an earlier run in it.
#pragma once

#include <string>

#include "base/result.h"
#include "manager/run/source.h"
#include "programs/run/run_options.h"
#include "records/journal/run_directory.h"

namespace wq::programs::run {

// Chooses LIST.wq next to the list, or LIST.wq-JOBID in a batch job (`job_id` is empty otherwise); for
// standard input the first free of stdin.wq, stdin.wq-2 ... --resume takes the newest of them that has a
// journal.
std::string choose_run_directory(const RunOptions& options, const std::string& job_id);
// The newest run of a list, or the run of a directory.
std::string directory_of_run(const std::string& list_or_directory);

// Checks that Work Queue's statistics log can be written to `path`; empty: none is wanted. Errors: usage
// (also if the file exists and is not ours), not_allowed.
Status check_stats_log(const std::string& path);

// Creates the folder for reports on tasks; empty: none are wanted. Errors: usage, not_allowed.
Status make_summary_folder(const std::string& path);

// Whether a run has it, or had it.
bool is_of_a_run(const std::string& path);

struct RunPlace {
    records::journal::RunDirectory directory;
    manager::run::EarlierRun earlier;
    bool resumed = false;
};

// Reads the results of the run in `path` without locking the directory; nothing if there is no run. Errors:
// those of take_run_place().
Result<std::optional<manager::run::EarlierRun>> earlier_run(const RunOptions& options,
                                                            const std::string& path);

// Locks the directory and reads the journal of an earlier run. Errors: those of RunDirectory::take and of the
// journal; bad_input if the directory has a run of another source.
Result<RunPlace> take_run_place(const RunOptions& options, const std::string& path);

}  // namespace wq::programs::run

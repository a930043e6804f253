// The directory of a run, and what an earlier run left in it.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/run_options.h"
#include "records/run_directory.h"
#include "run/source.h"

namespace wq::cli {

using Lookup = std::function<const char*(const char*)>;

// The id of the batch job that we are in, by the variables of Slurm, PBS, LSF and Grid Engine; empty: none.
std::string batch_job_id(const Lookup& environment);

// LIST.wq beside the list, LIST.wq-JOBID in a batch job; --resume takes the newest of them that has a
// journal.
std::string choose_run_directory(const RunOptions& options, const std::string& job_id);

// Whether Work Queue's statistics log can be written to `path`; empty: none is wanted. Errors: usage (also
// where the file is there and not ours),
// not_allowed.
Status check_stats_log(const std::string& path);

// Where reports on tasks go; empty: none are wanted. Errors: usage, not_allowed.
Status make_summary_folder(const std::string& path);

struct RunPlace {
    records::RunDirectory directory;
    run::EarlierRun earlier;
    bool resumed = false;
};

// What the run in `path` did, read without taking the directory; nothing where there is no run. Errors as of
// take_run_place().
Result<std::optional<run::EarlierRun>> earlier_run(const RunOptions& options, const std::string& path);

// Takes the directory and reads the journal of an earlier run. Errors: those of RunDirectory::take and of the
// journal; bad_input when the directory holds the run of something else.
Result<RunPlace> take_run_place(const RunOptions& options, const std::string& path);

}  // namespace wq::cli

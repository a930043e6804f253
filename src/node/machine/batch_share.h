// The job that this process is in, and the share of the machine that belongs to it, according to the
// environment of Slurm, PBS, Grid Engine or HTCondor. Words that are no numbers are ignored: they come from
// the batch system, not from the user.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "node/machine/machine.h"

namespace wq::node::machine {

struct BatchSources {
    std::function<const char*(const char*)> variable;
    std::function<std::optional<std::string>(const std::string& path)> file;  // returns its content
    std::string host{};                                                       // our name
};

// To interpret Slurm's CPUs: they are hardware threads on most clusters, cores on some.
struct CpuCount {
    std::size_t cores = 1;
    std::size_t threads = 1;  // of these cores
};

// In the order Slurm, PBS, Grid Engine, HTCondor; values of a job on several hosts are omitted if they count
// all hosts together.
Bounds batch_bounds(const BatchSources& sources, const CpuCount& usable = {});

// How many nodes the job has, or the step of Slurm that we are in; nullopt: not told, or no job.
std::optional<std::int64_t> batch_nodes(const BatchSources& sources);

// The job's id as its driver in scripts/ prints it: "77", "77_1" (Slurm's arrays), "77.1" (Grid Engine's,
// HTCondor), "77[1].server" (PBS), "77[1]" (LSF). WORK_QUEUE_JOB comes first, for systems that are not known
// here. Empty: none.
std::string batch_job(const BatchSources& sources);

// Whether the script of a batch job started us, not somebody in a shell.
bool in_job_script(const BatchSources& sources);

BatchSources batch_environment();  // of this process

}  // namespace wq::node::machine

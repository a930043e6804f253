// The job that this process is in, and the share of the machine that belongs to it, according to the
// environment of Slurm, PBS, Grid Engine or HTCondor. Words that are no numbers are ignored: they come from
// the batch system, not from the user.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "node/machine/asked_command.h"
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

// When the job started, by the clock of its batch system; nullopt: not told, or no job.
std::optional<WallMicros> batch_start(const BatchSources& sources);

// How many cores the job has on this host, by its batch_bounds(); nullopt: not told, or no job.
std::optional<std::int64_t> allocated_cores(const Bounds& batch);

// Whether the script of a batch job started us, not somebody in a shell.
bool in_job_script(const BatchSources& sources);

BatchSources batch_environment();  // of this process

// When our batch job ends, according to its batch system: a variable, a file, or a command. Pure functions
// parse the text; they never throw.

// `scontrol show job ID`: its EndTime, in local time.
std::optional<WallMicros> end_in_scontrol(std::string_view text);

// `qstat -f ID` of PBS and Torque: Resource_List.walltime minus resources_used.walltime, added to `now`.
std::optional<WallMicros> end_in_qstat(std::string_view text, WallMicros now);

// The ads of HTCondor's job and machine: the earliest end that they contain. `now` replaces the job's start
// if they lack it.
std::optional<WallMicros> end_in_condor_ads(std::string_view job, std::string_view machine, WallMicros now);

// "01:30:00", "1:02:03:04", "90": from PBS. nullopt for anything else.
std::optional<std::int64_t> pbs_seconds(std::string_view text);

class BatchEnd {
  public:
    using Variable = std::function<const char*(const char*)>;

    // Reads variables and files; a command is started, but not waited for.
    static BatchEnd ask(const Variable& variable, WallMicros now);

    // The end, if it is known within `limit`: a batch system that does not answer delays nobody.
    std::optional<WallMicros> wait(Duration limit);

  private:
    std::optional<WallMicros> answer(Duration limit);

    std::optional<WallMicros> known_;
    std::optional<WallMicros> otherwise_;  // if the command does not tell
    std::function<std::optional<WallMicros>(std::string_view)> read_;
    AskedCommand command_;
};

}  // namespace wq::node::machine

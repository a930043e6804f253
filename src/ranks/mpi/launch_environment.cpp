#include "ranks/mpi/launch_environment.h"

#include <cstdlib>

#include "base/units.h"

namespace wq::ranks::mpi {

namespace {

std::optional<int> number(const Lookup& lookup, const char* name) {
    const char* text = lookup(name);
    if (!text) return std::nullopt;
    const auto value = parse_count(text, 0, 1 << 30);
    if (!value) return std::nullopt;
    return static_cast<int>(*value);
}

// A batch script has SLURM_NTASKS and SLURM_PROCID too, but no step: that process is rightly alone.
std::optional<int> slurm_step_size(const Lookup& lookup) {
    if (!lookup("SLURM_PROCID") || !lookup("SLURM_STEP_ID")) return std::nullopt;
    if (const auto size = number(lookup, "SLURM_STEP_NUM_TASKS")) return size;
    return number(lookup, "SLURM_NTASKS");
}

// What launchers do, measured with Open MPI 4.1.4, MPICH 4.0.2 and Slurm 22.05.
//   mpirun: ends the job at the first code other than 0, and on SIGTERM, SIGINT or SIGHUP: SIGCONT at once,
//     SIGTERM 1 s later, SIGKILL 1 s after that, all to its children's process groups. 5.0.7: 0.25 s later
//     each.
//   mpiexec.hydra: passes SIGTERM and SIGINT on at once and waits for the end. A failed process that has not
//     contacted it yet ends nothing: the others kept waiting in MPI_Init. After a signal its proxy reports 0
//     instead of the code from wait() (9 of 18 runs; 12 of 12 of a plain program).
//   srun: passes signals on; SIGKILL follows KillWait (30 s) after a scancel; exit codes end nothing.
struct LauncherTraits {
    const char* launcher;
    bool ends_job_at_failure;
    bool kills_after_signal;
};
constexpr LauncherTraits kOpenMpi{"mpirun of Open MPI", true, true};
constexpr LauncherTraits kPmi{"a launcher that speaks PMI", false, false};
constexpr LauncherTraits kPmix{"a launcher that speaks PMIx", false, false};
constexpr LauncherTraits kSrun{"srun", false, false};

void set_traits(LaunchEnvironment& found, const LauncherTraits& traits) {
    found.launcher = traits.launcher;
    found.ends_job_at_failure = traits.ends_job_at_failure;
    found.kills_after_signal = traits.kills_after_signal;
}

}  // namespace

LaunchEnvironment read_launch_environment(const Lookup& lookup) {
    LaunchEnvironment found;
    if (lookup("PMIX_NAMESPACE") && lookup("PMIX_RANK")) {
        found.manager = ProcessManager::pmix;
    } else if (lookup("PMI_FD")) {
        found.manager = ProcessManager::hydra;
    }
    if (const auto size = number(lookup, "OMPI_COMM_WORLD_SIZE")) {
        found.launched = true;
        found.expected_size = size;
        found.rank = number(lookup, "OMPI_COMM_WORLD_RANK").value_or(0);
        found.by_open_mpi = true;
        set_traits(found, kOpenMpi);
    } else if (lookup("PMI_RANK") || lookup("PMI_FD")) {
        found.launched = true;
        found.expected_size = number(lookup, "PMI_SIZE");
        found.rank = number(lookup, "PMI_RANK").value_or(0);
        set_traits(found, kPmi);
        found.forgets_code_after_signal = found.manager == ProcessManager::hydra;
    } else if (lookup("PMIX_RANK")) {
        found.launched = true;
        found.expected_size = slurm_step_size(lookup);
        found.rank = number(lookup, "PMIX_RANK").value_or(0);
        set_traits(found, found.expected_size ? kSrun : kPmix);
    } else if (const auto step = slurm_step_size(lookup); step && *step > 1) {
        found.expected_size = step;
        found.rank = number(lookup, "SLURM_PROCID").value_or(0);
        set_traits(found, kSrun);
    }
    return found;
}

LaunchEnvironment read_launch_environment() {
    return read_launch_environment([](const char* name) { return std::getenv(name); });
}

Status check_world_size(const LaunchEnvironment& environment, int world_size) {
    if (!environment.expected_size || *environment.expected_size <= 1 || world_size > 1) return success();
    const std::string began = environment.launcher + " started " +
                              std::to_string(*environment.expected_size) +
                              " processes, but each is alone in its MPI job: ";
    if (environment.launcher == "srun") {
        return Error{ExitCode::usage,
                     began + "use 'srun --mpi=pmix' ('srun --mpi=list' shows the choices), or mpirun"};
    }
    return Error{ExitCode::usage,
                 began + "it belongs to a different MPI than the one this program was built with"};
}

}  // namespace wq::ranks::mpi

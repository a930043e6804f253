#include "transport/launch_environment.h"

#include <cstdlib>

#include "base/units.h"

namespace wq::transport {

namespace {

std::optional<int> number(const Lookup& lookup, const char* name) {
    const char* text = lookup(name);
    if (!text) return std::nullopt;
    const auto value = parse_count(text, 0, 1 << 30);
    if (!value) return std::nullopt;
    return static_cast<int>(*value);
}

// In a batch script SLURM_NTASKS and SLURM_PROCID are set as well, but no step: that process is alone
// rightly.
std::optional<int> slurm_step_size(const Lookup& lookup) {
    if (!lookup("SLURM_PROCID") || !lookup("SLURM_STEP_ID")) return std::nullopt;
    if (const auto size = number(lookup, "SLURM_STEP_NUM_TASKS")) return size;
    return number(lookup, "SLURM_NTASKS");
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
        found = {true, found.manager, size, "mpirun of Open MPI"};
    } else if (lookup("PMI_RANK") || lookup("PMI_FD")) {
        found = {true, found.manager, number(lookup, "PMI_SIZE"), "a launcher that speaks PMI"};
    } else if (lookup("PMIX_RANK")) {
        found.launched = true;
        found.expected_size = slurm_step_size(lookup);
        found.launcher = found.expected_size ? "srun" : "a launcher that speaks PMIx";
    } else if (const auto step = slurm_step_size(lookup); step && *step > 1) {
        found.expected_size = step;
        found.launcher = "srun";
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
                              " processes, but each finds itself alone: ";
    if (environment.launcher == "srun") {
        return Error{ExitCode::usage,
                     began + "use 'srun --mpi=pmix' ('srun --mpi=list' shows what there is), or mpirun"};
    }
    return Error{ExitCode::usage,
                 began + "it belongs to another MPI than the one this program was built with"};
}

}  // namespace wq::transport

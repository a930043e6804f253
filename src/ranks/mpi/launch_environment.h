// How this process was started, from the environment, before and without MPI: a process that no launcher
// started does not use MPI (MPI_Init alone takes 0.2 s).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace wq::ranks::mpi {

enum class ProcessManager { none, pmix, hydra };

struct LaunchEnvironment {
    bool launched = false;  // by mpirun, mpiexec or srun with an MPI plugin: initialise MPI
    ProcessManager manager = ProcessManager::none;  // who needs a goodbye when the rank ends (guard.h)
    int rank = 0;                      // as the launcher counts; messages that all ranks would print come
                                       // from 0
    std::optional<int> expected_size;  // number of ranks, if the launcher tells it
    std::string launcher;              // "mpirun of Open MPI", "srun", ...; for messages
    bool by_open_mpi = false;          // its own mpirun
    // What the launcher does on failures:
    bool ends_job_at_failure = false;  // at the first process that exits with a code other than 0
    bool kills_after_signal = false;   // sends SIGKILL 1 s after SIGTERM
    // After passing a signal on it returns 0, whatever rank 0's code; it returns an abort's code.
    bool forgets_code_after_signal = false;
};

// Like getenv: nullptr when unset.
using Lookup = std::function<const char*(const char*)>;

LaunchEnvironment read_launch_environment(const Lookup& lookup);
LaunchEnvironment read_launch_environment();  // of this process

// Error if the launcher started several processes and each of them believes it is alone: srun without an MPI
// plugin, or a launcher of another MPI. Otherwise every process would run the whole list.
Status check_world_size(const LaunchEnvironment& environment, int world_size);

}  // namespace wq::ranks::mpi

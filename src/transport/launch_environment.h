// What the environment says about how this process was started, before and without any MPI: a process that no
// launcher started does without MPI (MPI_Init alone takes 0.2 s).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace wq::transport {

enum class ProcessManager { none, pmix, hydra };

struct LaunchEnvironment {
    bool launched = false;  // by mpirun, mpiexec or srun with an MPI plugin: MPI is to be initialised
    ProcessManager manager = ProcessManager::none;  // who waits for a goodbye when the rank ends (guard.h)
    int rank = 0;                      // as the launcher counts; what all ranks would say alike is said by 0
    std::optional<int> expected_size;  // ranks that the launcher started, where it says so
    std::string launcher;              // "mpirun of Open MPI", "srun", ...: for messages
    // What the launcher does when things go wrong:
    bool ends_job_at_failure = false;  // at the first process that exits with a code that is not 0
    bool kills_after_signal = false;   // sends SIGKILL 1 s after SIGTERM
    // Once it has passed a signal on it returns 0, whatever rank 0 ends with; an abort's code it returns.
    bool forgets_code_after_signal = false;
};

// As getenv: nullptr when unset.
using Lookup = std::function<const char*(const char*)>;

LaunchEnvironment read_launch_environment(const Lookup& lookup);
LaunchEnvironment read_launch_environment();  // of this process

// Error when the launcher started several processes and each of them believes to be alone: srun without an
// MPI plugin, or a launcher of another MPI. Without the check every process would run the whole list.
Status check_world_size(const LaunchEnvironment& environment, int world_size);

}  // namespace wq::transport

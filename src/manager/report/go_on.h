// "To continue, run: ...": what the user does after an unfinished run.
#pragma once

#include <string>
#include <vector>

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

}  // namespace wq::manager::report

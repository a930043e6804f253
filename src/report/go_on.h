// "To continue, run: ...": the command for the user after an unfinished run.
#pragma once

#include <string>
#include <vector>

namespace wq::report {

// How the user started this program.
struct StartedAs {
    std::vector<std::string> command_line;  // as typed, starting with this program
    std::string launcher;                   // "mpirun", "srun"; empty: no launcher
};

// Returns the command with `option`, unless it has it already: "work_queue_run --resume tasks.sh". A
// launcher's options are unknown, so under a launcher it is "the same mpirun command with ...".
std::string command_to_go_on(const StartedAs& started, const std::string& option);

}  // namespace wq::report

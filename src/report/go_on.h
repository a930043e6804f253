// "To continue, run: ...": the command to type after a run that left something undone.
#pragma once

#include <string>
#include <vector>

namespace wq::report {

// How this program was started.
struct StartedAs {
    std::vector<std::string> command_line;  // as the user gave it, this program first
    std::string launcher;                   // "mpirun", "srun"; empty: by none
};

// The command with `option`, unless it is there already: "work_queue_run --resume tasks.sh". The options of a
// launcher are not known to us, so that under one it is "the same mpirun command with ...".
std::string command_to_go_on(const StartedAs& started, const std::string& option);

}  // namespace wq::report

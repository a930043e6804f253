#include <cstdlib>
#include <optional>

#include "base/find_above.h"
#include "node/launcher/launcher_program.h"

namespace wq::node::launcher {

namespace {

// Relative to a prefix; absolute if the installation configured it so.
constexpr const char* place = WQ_LAUNCHER_PLACE;
constexpr int levels = 3;  // PREFIX/lib/x86_64-linux-gnu/libwork_queue_mpi.so.0, PREFIX/bin/program

}  // namespace

Result<std::string> find_launcher_program(const std::string& wanted) {
    const char* const variable = std::getenv("WORK_QUEUE_LAUNCHER");
    const std::string named = !wanted.empty() ? wanted : variable != nullptr ? variable : "";
    if (!named.empty()) {
        if (is_executable_file(named)) return named;
        return Error{ExitCode::usage, "'" + named +
                                          "' cannot be executed; the launcher (MpiOptions.launcher, or "
                                          "WORK_QUEUE_LAUNCHER) is the path of work_queue_launcher"};
    }
    for (const std::string& folder : program_folders(reinterpret_cast<const void*>(&find_launcher_program)))
        if (auto found = find_above(folder, {place}, levels)) return *found;
    if (is_executable_file(WQ_LAUNCHER_INSTALLED)) return std::string(WQ_LAUNCHER_INSTALLED);
    return Error{ExitCode::unreachable,
                 "work_queue_launcher, which runs commands where a program has called MPI_Init itself, is "
                 "neither near the program nor in " WQ_LAUNCHER_INSTALLED
                 ": set WORK_QUEUE_LAUNCHER to its path"};
}

}  // namespace wq::node::launcher

#include "programs/run/own_watch.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>

namespace wq::programs::run {

Status OwnWatch::start(const std::string& run_directory) {
    const std::string instead = "; use: work_queue_status --watch " + run_directory;
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
        return Error{ExitCode::usage, "--watch needs a terminal, also without mpirun or srun in between" + instead};
    std::error_code failed;
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe", failed).parent_path() / "work_queue_status";
    child_ = Child({program.string(), "--watch", run_directory},
                   {.in = STDIN_FILENO, .out = STDOUT_FILENO, .err = STDERR_FILENO});
    if (!child_.running())
        return Error{ExitCode::refused, "cannot run " + program.string() + ": " +
                                           std::generic_category().message(child_.start_error()) + instead};
    return success();
}

bool OwnWatch::has_terminal() {
    return child_.running() && !child_.take_end();
}

void OwnWatch::end() {
    if (!has_terminal()) return;
    child_.signal(SIGTERM);
    child_.wait_until(instant_now() + std::chrono::seconds(5));
}

}  // namespace wq::programs::run

#include <dlfcn.h>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "base/find_above.h"
#include "launcher/launcher_program.h"

namespace wq::launcher {

namespace {

namespace fs = std::filesystem;

// Relative to a prefix; absolute if the installation configured it so.
constexpr const char* place = WQ_LAUNCHER_PLACE;
constexpr int levels = 3;  // PREFIX/lib/x86_64-linux-gnu/libwork_queue_mpi.so.0, PREFIX/bin/program

// The folders of this library, of the program, and those in PATH, which hold a prefix's commands.
std::vector<fs::path> folders() {
    std::vector<fs::path> all;
    std::error_code error;
    Dl_info library{};
    if (dladdr(reinterpret_cast<void*>(&find_launcher_program), &library) != 0 &&
        library.dli_fname != nullptr)
        all.push_back(fs::weakly_canonical(library.dli_fname, error).parent_path());
    all.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
    const char* const path = std::getenv("PATH");
    std::istringstream names(path != nullptr ? path : "");
    for (std::string name; std::getline(names, name, ':');)
        if (name.starts_with('/')) all.emplace_back(name);
    return all;
}

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
    for (const fs::path& folder : folders())
        if (auto found = find_above(folder.string(), {place}, levels)) return *found;
    if (is_executable_file(WQ_LAUNCHER_INSTALLED)) return std::string(WQ_LAUNCHER_INSTALLED);
    return Error{ExitCode::unreachable,
                 "work_queue_launcher, which runs commands where a program has called MPI_Init itself, is "
                 "neither near the program nor in " WQ_LAUNCHER_INSTALLED
                 ": set WORK_QUEUE_LAUNCHER to its path"};
}

}  // namespace wq::launcher

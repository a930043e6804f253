#include "programs/run/plots.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

extern char** environ;

namespace wq::programs::run {

namespace fs = std::filesystem;

namespace {

// Shorter runs are not plotted by default: drawing takes about half a second.
constexpr double worth_a_plot_seconds = 5;

bool in_path(const char* program) {
    const char* path = std::getenv("PATH");
    std::string folders = path != nullptr ? path : "";
    for (std::size_t begin = 0; begin <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        if (::access((folders.substr(begin, end - begin) + "/" + program).c_str(), X_OK) == 0) return true;
        begin = end + 1;
    }
    return false;
}

bool run_quietly(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
    // Signals are blocked here; unblock them in the child, so that Ctrl-C stops it.
    posix_spawnattr_t attributes;
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, argv[0], &actions, &attributes, argv.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return false;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::vector<std::string> draw_plots(Plots when, const std::string& run_directory, double run_seconds) {
    if (when == Plots::never || (when == Plots::automatic && run_seconds < worth_a_plot_seconds)) return {};
    std::error_code failed;
    const fs::path program =
        fs::read_symlink("/proc/self/exe", failed).parent_path() / "work_queue_graph_log";
    if (failed || ::access(program.c_str(), X_OK) != 0 || !in_path("gnuplot")) return {};
    const fs::path folder = fs::path(run_directory) / "plots";
    fs::create_directories(folder, failed);
    if (!run_quietly(
            {program.string(), "--skip-empty", "-o", (folder / "run").string(), run_directory + "/stats.h5"}))
        return {};
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed))
        files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace wq::programs::run

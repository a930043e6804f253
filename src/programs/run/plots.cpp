#include "programs/run/plots.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/child.h"

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

}  // namespace

std::vector<std::string> draw_plots(Plots when, const std::string& run_directory, double run_seconds) {
    if (when == Plots::never || (when == Plots::automatic && run_seconds < worth_a_plot_seconds)) return {};
    std::error_code failed;
    const fs::path program =
        fs::read_symlink("/proc/self/exe", failed).parent_path() / "work_queue_graph_log";
    if (failed || ::access(program.c_str(), X_OK) != 0 || !in_path("gnuplot")) return {};
    const fs::path folder = fs::path(run_directory) / "plots";
    fs::create_directories(folder, failed);
    // Signals are blocked here, not in the child, so that Ctrl-C stops it.
    Child drawing(
        {program.string(), "--skip-empty", "-o", (folder / "run").string(), run_directory + "/stats.h5"}, {});
    if (!drawing.running() || drawing.wait() != 0) return {};
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed))
        files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace wq::programs::run

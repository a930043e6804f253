#include "programs/run/plots.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/child.h"
#include "base/read_write.h"
#include "base/shortage.h"
#include "base/text.h"
#include "records/journal/append_file.h"

namespace wq::programs::run {

namespace fs = std::filesystem;

namespace {

// Shorter runs get no plots and no report by default: drawing takes about half a second.
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

// Runs a command from the folder of this program. False: it is missing, or failed. Signals are blocked here,
// not in the child, so that Ctrl-C stops it.
bool run_beside(const char* name, const std::vector<std::string>& words) {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed).parent_path() / name;
    if (failed || ::access(program.c_str(), X_OK) != 0) return false;
    std::vector<std::string> command{program.string()};
    command.insert(command.end(), words.begin(), words.end());
    Child child(command, {});
    return child.running() && child.wait() == 0;
}

}  // namespace

bool are_wanted(Plots when, double run_seconds) {
    return when == Plots::always || (when == Plots::automatic && run_seconds >= worth_a_plot_seconds);
}

std::string write_report(const std::string& run_directory) {
    const std::string page = run_directory + "/report.html";
    return run_beside("work_queue_report", {"-o", page, run_directory}) ? page : "";
}

std::vector<std::string> draw_plots(const std::string& run_directory) {
    if (!in_path("gnuplot")) return {};
    std::error_code failed;
    const fs::path folder = fs::path(run_directory) / "plots";
    fs::create_directories(folder, failed);
    if (!run_beside("work_queue_graph_log",
                    {"--skip-empty", "-o", (folder / "run").string(), run_directory + "/stats.h5"}))
        return {};
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed))
        files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

namespace {

std::string reason(int error_number) {
    return std::generic_category().message(error_number);
}

// gnuplot writes its errors to memory, so it never blocks on us while we wait for it.
struct ErrorOutput {
    Descriptor file{::memfd_create("gnuplot", MFD_CLOEXEC)};

    // The line with the error: below the echoed command and a caret, as `line 7: ...`.
    std::string error_line() const {
        char buffer[8192];
        const ssize_t n = ::pread(file.get(), buffer, sizeof buffer, 0);
        std::string_view rest(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
        std::string first;
        while (!rest.empty()) {
            std::string_view line = next_line(rest);
            while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
            if (line.starts_with("line ")) return std::string(line);
            if (first.empty() && line.find_first_not_of("^ ") != std::string_view::npos) first = line;
        }
        return first;
    }
};

// Check first, because gnuplot's error for a file that cannot be created has neither file nor reason.
Status check_writable(const views::PlotStyle& style, const views::Plots& plots) {
    for (const std::string& path : views::plot_paths(style, plots)) {
        const bool existed = ::access(path.c_str(), F_OK) == 0;
        const auto file = records::journal::AppendFile::open(path);
        if (!file) {
            const bool forbidden = file.error().code == ExitCode::not_allowed;
            return Error{forbidden ? ExitCode::not_allowed : ExitCode::usage,
                         file.error().message + "; choose another place with -o"};
        }
        if (!existed) ::unlink(path.c_str());
    }
    return success();
}

}  // namespace

Status draw_with_gnuplot(const std::string& program, const views::PlotStyle& style,
                         const views::Plots& plots) {
    if (auto checked = check_writable(style, plots); !checked) return checked;
    const std::string script = views::plot_script(style, plots);
    const ErrorOutput error_output;
    Pipe input = open_pipe();
    if (!error_output.file.valid() || !input.valid()) return refused_by_system("no pipe");
    Child gnuplot({program},
                  {.in = input.read.get(), .out = error_output.file.get(), .err = error_output.file.get()});
    if (gnuplot.start_error() != 0)
        return Error{ExitCode::unreachable, "cannot run " + program + ": " + reason(gnuplot.start_error()) +
                                                "; install it (Debian: gnuplot-nox) or name one with -c"};
    input.read.reset();
    std::signal(SIGPIPE, SIG_IGN);  // if gnuplot ends early, its error message says why
    write_all(input.write.get(), script);
    input.write.reset();
    const int code = gnuplot.wait();
    if (code == 0) return success();
    const std::string said = error_output.error_line();
    const std::string how = code > 128 && code < 128 + NSIG ? "ended by signal " + std::to_string(code - 128)
                                                            : "exit code " + std::to_string(code);
    return Error{ExitCode::internal, program + " failed: " + (said.empty() ? how : said)};
}

}  // namespace wq::programs::run

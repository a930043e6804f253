#include "programs/runtask/ranks.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/units.h"
#include "ranks/mpi/launch_environment.h"

namespace wq::programs::runtask {

namespace {

namespace fs = std::filesystem;

constexpr const char* program = "work_queue_run";

std::string seconds(Duration time) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    std::string text = std::to_string(milliseconds % 1000);
    text.insert(0, 3 - text.size(), '0');
    return std::to_string(milliseconds / 1000) + "." + text;
}

// Installed or built beside us; "": it is not.
std::string beside_us() {
    std::error_code problem;
    const fs::path ours = fs::read_symlink("/proc/self/exe", problem);
    if (problem) return {};
    const fs::path path = ours.parent_path() / program;
    return ::access(path.c_str(), X_OK) == 0 ? path.string() : "";
}

}  // namespace

bool needs_manager(const Options& options) {
    if (options.mode != Options::Mode::run) return false;
    return options.serve || ranks::mpi::read_launch_environment().expected_size.value_or(1) > 1;
}

Result<std::vector<std::string>> manager_command(const Options& options) {
    const std::string who = options.serve ? "--serve" : "mpirun";
    const auto refused = [&](const std::string& option) {
        return Error{ExitCode::usage,
                     option + " is for one worker; with " + who +
                         ", workers get the next ids and the names of their machines, and run as many "
                         "lines as they have cores"};
    };
    if (options.id) return refused("--id");
    if (options.named) return refused("--name");
    if (options.jobs != 1) return refused("--jobs");
    std::vector<std::string> words{program, "--shared-list", shared_list::store::name_of(options.list)};
    if (options.serve) words.insert(words.end(), {"--listen", "--manager-only"});
    if (options.once) words.emplace_back("--once");
    if (options.retries != 0) words.insert(words.end(), {"--retries", std::to_string(options.retries)});
    if (options.timeout) words.insert(words.end(), {"--timeout", seconds(*options.timeout)});
    words.insert(words.end(), {"--poll", seconds(options.poll), "--lease", seconds(options.lease)});
    return words;
}

Error become_manager(const Options& options) {
    auto words = manager_command(options);
    if (!words) return words.error();
    std::vector<char*> argv;
    for (std::string& word : *words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (const std::string path = beside_us(); !path.empty()) ::execv(path.c_str(), argv.data());
    ::execvp(program, argv.data());
    const std::string why = std::generic_category().message(errno);
    return {ExitCode::unreachable,
            "cannot start work_queue_run, which runs lines on ranks and serves workers: " + why +
                "; install it beside runtask, or set PATH"};
}

}  // namespace wq::programs::runtask

#include "programs/runtask/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/units.h"
#include "programs/command_line.h"
#include "ranks/mpi/launch_environment.h"
#include "shared_list/replica/other_workers.h"

namespace wq::programs::runtask {

namespace {

constexpr std::int64_t most_jobs = 1000;
constexpr std::int64_t most_retries = 1000;

OptionTable options_of(Options& options) {
    return {
        {group, "Options"},
        {"master,m", "HOST",
         "machine that has FILE, as HOST or USER@HOST; workers reach it by ssh without a password (default: "
         "$MASTER_SERVER, or this machine)"},
        {"name,n", "TEXT",
         "name of this worker in FILE (default: $WORKER_NAME, or host name and addresses; with mpirun or "
         "--serve, always host name and addresses)"},
        {"id,i", "K", "id of this worker (default: the next free id)"},
        {"once", "", "leave when no line is left that this worker may run (default: wait for more lines)",
         &options.once},
        {"serve", "", "dispatch the lines to workers over TCP (work_queue_worker), and record the run",
         &options.serve},
        {"jobs", "N", "run up to N lines at once (default: 1)"},
        {"retries", "N", "retry a failed line at most N times before other workers try it (default: 0)"},
        {"timeout", "TIME", "kill a line that runs longer than TIME; it fails with exit code 124"},
        {"poll", "TIME", "look for new lines every TIME while waiting (default: 3s)"},
        {"lease", "TIME",
         "let this worker's lines wait again once it gave no sign of life for TIME (default: 10m; 0: never)"},
        {"lock", "", "keep workers off FILE while you edit it, until you press Ctrl-C"},
        {"reset", "[K]", "remove the marks that workers left in FILE, from line K on (default: all)"},
        {"release", "K", "let the lines that lost worker K was running wait again"},
        {"force", "",
         "with --reset or --release: proceed even if a worker gave a sign of life within its lease",
         &options.force},
        {"status", "", "print which lines are done, running, failed and waiting"},
        {"check", "", "print which worker would run each line, and which lines can never run"},
        {"dot", "", "with --check: print which line waits for which, as a graph for Graphviz", &options.dot},
        {"version", "", "print the version and exit"},
        {"help,h", "", "print this help and exit"},
    };
}

constexpr std::int64_t most_worker = std::int64_t{shared_list::text::no_worker} - 1;

bool is_number(const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

// The number of --reset may be left out; Boost would take it only after a '=', then.
std::vector<std::string> with_reset_number(const std::vector<std::string>& given) {
    std::vector<std::string> words;
    for (auto word = given.begin(); word != given.end(); ++word) {
        words.push_back(*word);
        if (words.back() != "--reset") continue;
        const bool follows = word + 1 != given.end() && is_number(word[1]);
        words.back() += follows ? "=" + *++word : "=0";
    }
    return words;
}

// Options that say how lines are run.
constexpr std::array of_running{"name", "id", "once", "serve", "jobs", "retries", "timeout", "poll", "lease"};

Status take_mode(const Given& given, Options& options) {
    using Mode = Options::Mode;
    constexpr std::array<std::pair<const char*, Mode>, 5> modes{{{"lock", Mode::lock},
                                                                 {"reset", Mode::reset},
                                                                 {"release", Mode::release},
                                                                 {"status", Mode::status},
                                                                 {"check", Mode::check}}};
    const char* chosen = nullptr;
    for (const auto& [name, mode] : modes) {
        if (!given.has(name)) continue;
        if (chosen != nullptr)
            return usage_error(std::string("give --") + chosen + " or --" + name + ", not both");
        chosen = name;
        options.mode = mode;
    }
    if (chosen == nullptr) return success();
    for (const char* name : of_running)
        if (given.has(name))
            return usage_error(std::string("--") + name + " is for running lines, which --" + chosen +
                               " does not");
    return success();
}

Status take_numbers(const Given& given, Options& options) {
    OptionTaker take(given);
    take("id", options.id, between(0, most_worker));
    take("release", options.released, between(0, most_worker));
    take("jobs", options.jobs, between(1, most_jobs));
    take("retries", options.retries, between(0, most_retries));
    take("reset", options.reset_from, between(0, std::int64_t{1} << 40));
    return take.status();
}

Status take_times(const Given& given, Options& options) {
    OptionTaker take(given);
    take("timeout", options.timeout, parse_duration);
    take("poll", options.poll, shared_list::replica::parse_poll);
    take("lease", options.lease, shared_list::replica::parse_lease);
    if (options.timeout && *options.timeout == Duration{0})
        take.check(usage_error("--timeout: a time above 0; without --timeout there is no limit"));
    return take.status();
}

// The list's own host beats --master, which beats the variable.
Status take_place(const Given& given, const Environment& environment, Options& options) {
    std::string file = environment("TASK_FILE");
    if (given.has("file")) {
        const auto files = given.texts("file");
        if (files.size() > 1)
            return usage_error(std::string(options.mode == Options::Mode::reset
                                               ? "--reset takes the number of a line; "
                                               : "") +
                               "give one FILE, not '" + files[0] + "' and '" + files[1] + "'");
        file = files.front();
    }
    if (file.empty()) return usage_error("give a task list: FILE, or HOST:FILE (or set TASK_FILE)");
    const std::string master = given.has("master") ? given.text("master") : environment("MASTER_SERVER");
    auto place = shared_list::store::list_place(file, master);
    if (!place) return usage_error(place.error().message);
    options.list = std::move(*place);
    return success();
}

Status fill(const Given& given, const Environment& environment, Options& options) {
    if (given.has("help")) {
        options.mode = Options::Mode::help;
        return success();
    }
    if (given.has("version")) {
        options.mode = Options::Mode::version;
        return success();
    }
    if (auto done = take_mode(given, options); !done) return done;
    if (auto done = take_numbers(given, options); !done) return done;
    if (auto done = take_times(given, options); !done) return done;
    if (options.force && options.mode != Options::Mode::reset && options.mode != Options::Mode::release)
        return usage_error("--force is for --reset and --release");
    if (options.dot && options.mode == Options::Mode::run) options.mode = Options::Mode::check;
    if (options.dot && options.mode != Options::Mode::check) return usage_error("--dot is for --check");
    options.named = given.has("name");
    options.name = options.named ? given.text("name") : environment("WORKER_NAME");
    return take_place(given, environment, options);
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv, const Environment& environment) {
    Options options;
    const auto given = read_options(with_reset_number(words_of(argc, argv)), options_of(options), "file");
    if (!given) return given.error();
    if (auto filled = fill(*given, environment, options); !filled) return filled.error();
    return options;
}

std::string help() {
    Options none;
    return help_with(
        "Usage: runtask [OPTION]... [USER@HOST:]FILE\n"
        "       runtask [USER@HOST:]FILE --lock | --reset [K] | --release K [--force]\n"
        "       runtask [USER@HOST:]FILE --status | --check\n\n"
        "Runs the lines of FILE, a text file with one shell command on each line. Any\n"
        "number of workers, on any machines, share FILE: each takes the next line, runs\n"
        "it and marks it in FILE. The machine that has FILE runs no program for this,\n"
        "because workers reach FILE by ssh. You may add lines to FILE at any time.\n\n"
        "Tags at a line's end:\n"
        "  #!       each worker runs the line in its own shell: cd, export, functions\n"
        "  #@K      only worker K runs the line; several tags are alternatives (#@1#@2)\n"
        "  #:NAME   the line waits until all lines of group NAME above it are ok\n"
        "  #:       the line waits until all lines above it are ok\n"
        "  #+NAME   the line waits until the '#:NAME' lines above it are ok\n"
        "A '#!' line may set newtask=FILE (the worker's next list), newid=K (its next id)\n"
        "or jumpto=FILE (its next list, with the same id); 'exit' ends the worker. The\n"
        "variables WORKERID and TASKFILE are set for all lines.\n\n",
        options_of(none),
        "\nExamples:\n"
        "  runtask tasks.sh        start a worker, in as many terminals as you like\n"
        "  runtask me@login:~/tasks.sh\n"
        "                          on other machines; FILE is on the host login\n"
        "  mpirun -n 16 runtask --once tasks.sh\n"
        "                          the ranks are workers, and the run is recorded\n"
        "  runtask --once --jobs 4 tasks.sh\n"
        "                          run four lines at once; leave when all are done\n"
        "  runtask tasks.sh --reset\n"
        "                          run all lines again\n"
        "  runtask tasks.sh --lock\n"
        "                          in another terminal, before you edit running lines\n"
        "\nExit codes: 0 all lines ok (--once), 1 some lines failed or can never run, 64\n"
        "wrong options, 65 a list that cannot be used, 69 HOST cannot be reached, 71 no\n"
        "processes, open files or memory left, or stdout cannot be written, 75\n"
        "interrupted; running lines wait again, 77 ssh or the file system refuses.\n"
        "Lines for other workers (#@K) do not change a worker's exit code 0. With mpirun,\n"
        "the ranks are the only workers, so such lines make the exit code 1. If a line\n"
        "ends its worker by 'exit K', the worker's exit code is K.\n");
}

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

#include "programs/runtask/options.h"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "programs/command_line.h"
#include "programs/option_values.h"
#include "shared_list/replica/other_workers.h"

namespace wq::programs::runtask {

namespace {

namespace po = boost::program_options;

constexpr std::int64_t most_jobs = 1000;
constexpr std::int64_t most_retries = 1000;

po::options_description visible_options() {
    po::options_description all("Options", help_width, help_width / 2);
    auto add = all.add_options();
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    add("master,m", text("HOST"),
        "machine that has FILE, as HOST or USER@HOST; workers reach it by ssh without a password (default: "
        "$MASTER_SERVER, or this machine)");
    add("name,n", text("TEXT"),
        "name of this worker in FILE (default: $WORKER_NAME, or host name and addresses; with mpirun and "
        "--serve, always the latter)");
    add("id,i", text("K"), "id of this worker (default: the next free id)");
    add("once", "leave when no line is left that this worker may run (default: wait for more lines)");
    add("serve", "dispatch the lines to workers over TCP (work_queue_worker), and record the run");
    add("jobs", text("N"), "run up to N lines at once (default: 1)");
    add("retries", text("N"), "retry a failed line at most N times before other workers try it (default: 0)");
    add("timeout", text("TIME"), "kill a line that runs longer than TIME; it fails with exit code 124");
    add("poll", text("TIME"), "look for new lines every TIME while waiting (default: 3s)");
    add("lease", text("TIME"),
        "let this worker's lines wait again after TIME without a sign of life (default: 10m; 0: never)");
    add("lock", "keep workers off FILE while you edit it, until you press Ctrl-C");
    add("reset", text("[K]"), "remove the marks that workers left in FILE, from line K on (default: all)");
    add("release", text("K"), "let the lines that lost worker K was running wait again");
    add("force",
        "with --reset or --release: proceed even if the worker gave a sign of life within its lease");
    add("status", "print which lines are done, running, failed and waiting");
    add("check", "print which worker would run each line, and which lines can never run");
    add("dot", "with --check: print which line waits for which, as a graph for Graphviz");
    add("version", "print the version and exit");
    add("help,h", "print this help and exit");
    return all;
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

Status take_mode(const po::variables_map& given, Options& options) {
    using Mode = Options::Mode;
    constexpr std::array<std::pair<const char*, Mode>, 5> modes{{{"lock", Mode::lock},
                                                                 {"reset", Mode::reset},
                                                                 {"release", Mode::release},
                                                                 {"status", Mode::status},
                                                                 {"check", Mode::check}}};
    const char* chosen = nullptr;
    for (const auto& [name, mode] : modes) {
        if (given.count(name) == 0) continue;
        if (chosen != nullptr)
            return usage_error(std::string("give --") + chosen + " or --" + name + ", not both");
        chosen = name;
        options.mode = mode;
    }
    if (chosen == nullptr) return success();
    for (const char* name : of_running)
        if (given.count(name) > 0)
            return usage_error(std::string("--") + name + " is for running lines, which --" + chosen +
                               " does not");
    return success();
}

Status take_numbers(const po::variables_map& given, Options& options) {
    if (auto done = take(given, "id", options.id, between(0, most_worker)); !done) return done;
    if (auto done = take(given, "release", options.released, between(0, most_worker)); !done) return done;
    if (auto done = take(given, "jobs", options.jobs, between(1, most_jobs)); !done) return done;
    if (auto done = take(given, "retries", options.retries, between(0, most_retries)); !done) return done;
    return take(given, "reset", options.reset_from, between(0, std::int64_t{1} << 40));
}

Status take_times(const po::variables_map& given, Options& options) {
    if (auto done = take(given, "timeout", options.timeout, parse_duration); !done) return done;
    if (auto done = take(given, "poll", options.poll, shared_list::replica::parse_poll); !done) return done;
    if (auto done = take(given, "lease", options.lease, shared_list::replica::parse_lease); !done)
        return done;
    if (options.timeout && *options.timeout == Duration{0})
        return usage_error("--timeout: a time above 0; without --timeout there is no limit");
    return success();
}

// The list's own host beats --master, which beats the variable.
Status take_place(const po::variables_map& given, const Environment& environment, Options& options) {
    std::string file = environment("TASK_FILE");
    if (given.count("file") > 0) {
        const auto& files = given["file"].as<std::vector<std::string>>();
        if (files.size() > 1)
            return usage_error(std::string(options.mode == Options::Mode::reset
                                               ? "--reset takes the number of a line; "
                                               : "") +
                               "give one FILE, not '" + files[0] + "' and '" + files[1] + "'");
        file = files.front();
    }
    if (file.empty()) return usage_error("give a task list: FILE, or HOST:FILE (or set TASK_FILE)");
    const std::string master =
        given.count("master") > 0 ? given["master"].as<std::string>() : environment("MASTER_SERVER");
    auto place = shared_list::store::list_place(file, master);
    if (!place) return usage_error(place.error().message);
    options.list = std::move(*place);
    return success();
}

Status fill(const po::variables_map& given, const Environment& environment, Options& options) {
    if (given.count("help") > 0) return options.mode = Options::Mode::help, success();
    if (given.count("version") > 0) return options.mode = Options::Mode::version, success();
    if (auto done = take_mode(given, options); !done) return done;
    if (auto done = take_numbers(given, options); !done) return done;
    if (auto done = take_times(given, options); !done) return done;
    options.once = given.count("once") > 0;
    options.serve = given.count("serve") > 0;
    options.dot = given.count("dot") > 0;
    options.force = given.count("force") > 0;
    if (options.force && options.mode != Options::Mode::reset && options.mode != Options::Mode::release)
        return usage_error("--force is for --reset and --release");
    if (options.dot && options.mode == Options::Mode::run) options.mode = Options::Mode::check;
    if (options.dot && options.mode != Options::Mode::check) return usage_error("--dot is for --check");
    options.named = given.count("name") > 0;
    options.name = options.named ? given["name"].as<std::string>() : environment("WORKER_NAME");
    return take_place(given, environment, options);
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv, const Environment& environment) {
    const auto given = split_words(with_reset_number(words_of(argc, argv)), visible_options(), "file");
    if (!given) return given.error();
    Options options;
    if (auto filled = fill(*given, environment, options); !filled) return filled.error();
    return options;
}

std::string help() {
    std::ostringstream out;
    out << "Usage: runtask [OPTION]... [USER@HOST:]FILE\n"
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
           "variables WORKERID and TASKFILE are set for all lines.\n\n"
        << visible_options()
        << "\nExamples:\n"
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
           "ends its worker by 'exit K', the worker's exit code is K.\n";
    return without_trailing_blanks(out.str());
}

}  // namespace wq::programs::runtask

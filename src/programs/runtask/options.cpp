#include "programs/runtask/options.h"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "programs/command_line.h"
#include "programs/help_text.h"
#include "programs/option_values.h"
#include "shared_list/replica/lease.h"

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
        "the machine that has FILE: HOST or USER@HOST, reached by ssh without a password (default: "
        "$MASTER_SERVER; this machine, if neither is given)");
    add("name,n", text("TEXT"),
        "name of this worker in FILE (default: $WORKER_NAME, or host name and addresses; with mpirun and "
        "--serve, "
        "always the latter)");
    add("id,i", text("K"), "id of this worker (default: the next free one)");
    add("once", "leave when no line is left that this worker may run (default: wait for more)");
    add("serve", "give the lines to workers over TCP (work_queue_worker), and keep records of the run");
    add("jobs", text("N"), "run up to N lines at once (default: 1)");
    add("retries", text("N"), "try a failed line N more times before others get it (default: 0)");
    add("timeout", text("TIME"), "kill a line that runs longer than this; it failed with exit code 124");
    add("poll", text("TIME"), "how often to look for new lines while waiting (default: 3s)");
    add("lease", text("TIME"),
        "if this worker gives no sign of life for so long, its lines wait again (default: 10m; 0: never)");
    add("lock", "keep workers off FILE while you edit it, until Ctrl-C");
    add("reset", text("[K]"), "remove the marks that workers left in FILE, from line K on (default: all)");
    add("release", text("K"), "worker K is gone: the lines that it was running wait again");
    add("force", "with --reset or --release: also if the worker gave a sign of life just now");
    add("status", "print what is done, running, failed and waiting");
    add("check", "print what would run where, and what can never run");
    add("dot", "with --check: print what waits for what as a graph for Graphviz");
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
           "number of workers, on any machines, share it: each takes the next line, runs it\n"
           "and marks it in the file. The machine that has FILE runs no program for that:\n"
           "workers reach it by ssh. Lines may be added to FILE at any time.\n\n"
           "Tags at a line's end:\n"
           "  #!       each worker runs the line in its own shell: cd, export, functions\n"
           "  #@K      only worker K runs it; several are alternatives (#@1#@2)\n"
           "  #:NAME   waits until all lines of group NAME above it are ok; '#:': all lines\n"
           "  #+NAME   waits until the '#:NAME' lines above it are ok\n"
           "A '#!' line may set newtask=FILE (the next list), newid=K (the next id) or\n"
           "jumpto=FILE (the next list, same id); 'exit' ends its worker. WORKERID and\n"
           "TASKFILE are in the environment of lines.\n\n"
        << visible_options()
        << "\nExamples:\n"
           "  runtask tasks.sh        as many times, in as many terminals, as you like\n"
           "  runtask me@login:~/tasks.sh\n"
           "                          on other machines: FILE is on the host login\n"
           "  mpirun -n 16 runtask --once tasks.sh\n"
           "                          the ranks are workers, and the run is recorded\n"
           "  runtask --once --jobs 4 tasks.sh\n"
           "                          four lines at once; leaves when all are done\n"
           "  runtask tasks.sh --reset\n"
           "                          to run all lines again\n"
           "  runtask tasks.sh --lock\n"
           "                          before you edit lines that run, in another terminal\n"
           "\nExit codes: 0 all lines ok (--once), 1 some lines failed or can never run, 64\n"
           "wrong options, 65 a list that cannot be used, 69 HOST cannot be reached, 71 no\n"
           "processes, open files or memory left, or stdout cannot be written, 75\n"
           "interrupted: the lines that ran wait again, 77 ssh or the file system refuses.\n"
           "Lines that are for other workers (#@K) leave a worker's 0 as it is; with mpirun\n"
           "the ranks are all workers there are, and such lines make it 1.\n"
           "A worker that a line ends by 'exit K' has the exit code K.\n";
    return without_trailing_blanks(out.str());
}

}  // namespace wq::programs::runtask

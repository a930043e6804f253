#include "cli/run_options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <map>
#include <sstream>

#include "app/away.h"
#include "base/amounts.h"
#include "base/units.h"
#include "cli/binding_word.h"
#include "cli/help_text.h"
#include "taskfile/sources.h"

namespace wq::cli {

namespace po = boost::program_options;

namespace {

po::options_description visible_options() {
    po::options_description all("", help_width, help_width / 2);
    po::options_description source("Tasks", help_width, help_width / 2);
    source.add_options()(
        "each", po::value<std::string>()->value_name("FILE"),
        "one task per line of FILE (- for stdin): CMD after --, with the line in place of {}")(
        "array", po::value<std::string>()->value_name("RANGES"),
        "one task per index, e.g. 1-1000000:2,7 : CMD after --, with the index in place of {}")(
        "index-variable", po::value<std::string>()->value_name("NAME"),
        "of --each and --array: WORK_QUEUE_TASK_INDEX under this name too, e.g. SLURM_ARRAY_TASK_ID")(
        "shell", po::value<std::string>()->value_name("PATH"),
        "shell for lines that need one (default: bash, else sh)");
    po::options_description needs("What a task gets, where its line does not say", help_width,
                                  help_width / 2);
    needs.add_options()("cores", po::value<std::string>()->value_name("N"), "cores (default 1)")(
        "memory", po::value<std::string>()->value_name("SIZE"),
        "memory, e.g. 4G; above it the task is ended (default: its share, not enforced)")(
        "disk", po::value<std::string>()->value_name("SIZE"), "disk (default: none reserved)")(
        "gpus", po::value<std::string>()->value_name("N"), "GPUs (default 0)")(
        "bind", po::value<std::string>()->value_name("none|core|numa"),
        "bind it to its cores, or to those of their NUMA nodes (default: core, where no two ranks share "
        "cores)")("threads-per-core", po::value<std::string>()->value_name("N"),
                  "of each core it has the first N hardware threads (default: all)")(
        "timeout", po::value<std::string>()->value_name("TIME"),
        "wall time of one attempt, e.g. 90, 1h30m, 1-00:00:00 (default: none)")(
        "retries", po::value<std::string>()->value_name("N"),
        "attempts more for a task that fails by itself (default 0)")(
        "monitor", po::value<std::string>()->value_name("[=measure]"),
        "measure what each task takes, with all its processes, and end one that takes more cores, memory or "
        "disk than it was given; with =measure none is ended")(
        "monitor-output", po::value<std::string>()->value_name("DIR"),
        "measure, and write a report on each task into DIR");
    po::options_description run("The run", help_width, help_width / 2);
    run.add_options()("run-dir", po::value<std::string>()->value_name("DIR"),
                      "where everything of the run is kept (default: TASKLIST.wq, array.wq or stdin.wq; in a "
                      "batch job with -JOBID behind it)")(
        "resume", "go on with the run of this list, or start one if there is none")(
        "resume-failed", "as --resume, and run again what failed")(
        "max-losses", po::value<std::string>()->value_name("N"),
        "a task that was lost with its worker so often has failed (default 3)")(
        "speculate", po::value<std::string>()->value_name("TIMES"),
        "when nothing is left to be started, run a second copy of tasks that take so many times the mean, "
        "e.g. 2; what succeeds first counts (default: none)")(
        "halt-on-failure", "end the run at the first task that fails for good")(
        "keep-hosts", "give tasks also to a host that fails what succeeds on others")(
        "manager-only", "rank 0 manages and runs no task")(
        "listen", po::value<std::string>()->value_name("[PORT]"),
        "take workers over TCP too (default: any free port); they join by RUN_DIR/contact")(
        "name", po::value<std::string>()->value_name("NAME"),
        "with --listen: workers find the run by work_queue_worker -M NAME")(
        "away-limit", po::value<std::string>()->value_name("TIME"),
        "with --listen: a worker whose link is cut keeps its tasks for TIME (default 60; 0, or 10 and more)")(
        "tickets", po::value<std::string>()->value_name("auto|rma|message"),
        "how nodes refill their tickets (default auto)")(
        "walltime", po::value<std::string>()->value_name("TIME"),
        "the run is to be over after TIME: it drains 60 s before (default: what SLURM_JOB_END_TIME says)")(
        "grace", po::value<std::string>()->value_name("TIME"),
        "after a signal running tasks may finish for TIME (default 10)")(
        "storage-patience", po::value<std::string>()->value_name("TIME"),
        "a full disk is tried for TIME, then the run stops with 75 (default 60)")(
        "output-limit", po::value<std::string>()->value_name("SIZE"),
        "kept of each stream of a task (default 8M)");
    po::options_description shown("What is shown", help_width, help_width / 2);
    shown.add_options()("dry-run", "print what would run where, and run nothing")(
        "output", po::value<std::vector<std::string>>()->multitoken()->value_name("RUN_DIR TASK"),
        "print what a task of a run wrote, and end; TASK counts from 1, as in joblog.tsv")(
        "why", po::value<std::string>()->value_name("LINE"),
        "print why the task in LINE of the list does not run now, or how it has ended, and end")(
        "progress", po::value<std::string>()->value_name("auto|always|never"),
        "a progress line on a terminal, else a plain line a minute, or with always a second (default auto)")(
        "plots", po::value<std::string>()->value_name("auto|always|never"),
        "draw the run's plots at its end (default auto: when it took 5 s or more)")(
        "json", "the summary as JSON on stdout")("stats-log", po::value<std::string>()->value_name("FILE"),
                                                 "also write Work Queue's statistics log")(
        "verbose,v", "say more")("version", "print the version and end")("help,h", "this text");
    all.add(source).add(needs).add(run).add(shown);
    return all;
}

Error usage(const std::string& what) {
    return {ExitCode::usage, what + "; try --help"};
}

// The value of an option, converted; the error names the option.
template <class T, class Convert>
Status take(const po::variables_map& given, const char* name, T& target, Convert convert) {
    if (given.count(name) == 0) return success();
    auto value = convert(given[name].as<std::string>());
    if (!value) return usage(std::string("--") + name + ": " + value.error().message);
    target = static_cast<T>(*value);
    return success();
}

template <class T>
Status take_word(const po::variables_map& given, const char* name, T& target,
                 const std::map<std::string, T>& words) {
    if (given.count(name) == 0) return success();
    const std::string& word = given[name].as<std::string>();
    const auto found = words.find(word);
    if (found == words.end()) {
        std::string known;
        for (const auto& [text, value] : words) known += (known.empty() ? "" : ", ") + text;
        return usage(std::string("--") + name + ": " + quote_for_message(word) + " is none of " + known);
    }
    target = found->second;
    return success();
}

// With none all tasks would start at once; a line that only waits says so itself.
Result<Count> default_cores(const std::string& text) {
    auto cores = parse_count_with_fraction(text, 0, most_cores);
    if (cores && *cores == 0)
        return Error{ExitCode::usage, "tasks get more than 0; write #WQ cores=0 above those that only wait"};
    return cores;
}

Result<std::int64_t> megabytes(const std::string& text) {
    return parse_amount_mb(text);
}

auto counted(std::int64_t low, std::int64_t high) {
    return [=](const std::string& text) { return parse_count(text, low, high); };
}

auto fraction(std::int64_t high) {
    return [=](const std::string& text) { return parse_count_with_fraction(text, 0, high); };
}

Status take_port(const po::variables_map& given, std::optional<std::uint16_t>& port) {
    if (given.count("listen") == 0) return success();
    std::int64_t number = 0;
    const Status taken = take(given, "listen", number, counted(0, 65535));
    port = static_cast<std::uint16_t>(number);
    return taken;
}

auto duration() {
    return [](const std::string& text) { return parse_duration(text); };
}

Result<double> multiple(const std::string& text) {
    double value = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (bad == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 1e6) return value;
    return Error{ExitCode::usage, quote_for_message(text) + " is no number from 1 to 1000000"};
}

Result<Duration> away_limit(const std::string& text) {
    auto limit = parse_duration(text);
    if (limit && !app::sound_away_limit(*limit))
        return Error{ExitCode::usage, "at least 10 s, or 0: a worker whose link is cut is lost at once"};
    return limit;
}

Result<std::string> variable_name(const std::string& text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!text.empty() && letter(text.front()) &&
        std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); }))
        return text;
    return Error{ExitCode::usage,
                 quote_for_message(text) + " is no name of a variable; use letters, digits and _"};
}

Status take_monitoring(const po::variables_map& given, RunOptions& run) {
    if (given.count("monitor-output") != 0) {
        run.monitor_output = given["monitor-output"].as<std::string>();
        if (run.monitor_output.empty()) return usage("--monitor-output takes a folder");
        run.monitoring.measures = true;
    }
    if (given.count("monitor") == 0) return success();
    run.monitoring.measures = true;
    const Status taken =
        take_word<bool>(given, "monitor", run.monitoring.enforces, {{"enforce", true}, {"measure", false}});
    run.ends_none = !run.monitoring.enforces;
    return taken;
}

Status convert(const po::variables_map& given, RunOptions& run) {
    std::optional<Status> bad;
    const auto check = [&](Status status) {
        if (!status && !bad) bad = std::move(status);
    };
    Duration walltime{0};
    check(take(given, "cores", run.defaults.needs.cores, default_cores));
    check(take(given, "memory", run.defaults.needs.memory_mb, megabytes));
    check(take(given, "disk", run.defaults.needs.disk_mb, megabytes));
    check(take(given, "gpus", run.defaults.needs.gpus, fraction(most_cores)));
    std::size_t threads = 0;
    host::Binding bind{};
    check(take(given, "bind", bind, parse_binding));
    if (given.count("bind") != 0) run.bind = bind;
    check(take(given, "threads-per-core", threads, parse_threads));
    if (threads > 0) run.threads_per_core = threads;
    check(take(given, "timeout", run.defaults.timeout, duration()));
    check(take(given, "retries", run.defaults.retries, counted(0, 1'000'000)));
    check(take(given, "max-losses", run.max_losses, counted(1, 1'000'000)));
    check(take(given, "grace", run.grace, duration()));
    for (const char* const name : {"wall-time", "walltime"}) {
        check(take(given, name, walltime, duration()));
        if (given.count(name) != 0) run.walltime = walltime;
    }
    check(take(given, "storage-patience", run.storage_patience, duration()));
    check(take(given, "away-limit", run.away_limit, away_limit));
    check(take_port(given, run.listen));
    check(take_monitoring(given, run));
    check(take(given, "index-variable", run.index_variable, variable_name));
    check(take(given, "output-limit", run.output_limit, [](const std::string& text) -> Result<std::int64_t> {
        auto bytes = parse_size(text, 1);
        // An output travels whole, and in the memory of three processes.
        if (bytes && *bytes > (256 << 20))
            return Error{ExitCode::usage, "at most 256M; redirect more to a file in the task's line"};
        return bytes;
    }));
    check(take_word<Tickets>(
        given, "tickets", run.tickets,
        {{"auto", Tickets::automatic}, {"rma", Tickets::rma}, {"message", Tickets::message}}));
    check(take_word<Progress>(
        given, "progress", run.progress,
        {{"auto", Progress::automatic}, {"always", Progress::always}, {"never", Progress::never}}));
    check(take_word<Plots>(given, "plots", run.plots,
                           {{"auto", Plots::automatic}, {"always", Plots::always}, {"never", Plots::never}}));
    check(take(given, "speculate", run.speculate, multiple));
    if (bad) return *bad;
    const auto text = [&](const char* name, std::string& target) {
        if (given.count(name) != 0) target = given[name].as<std::string>();
    };
    text("run-dir", run.run_directory);
    text("shell", run.shell);
    text("stats-log", run.stats_log);
    text("name", run.name);
    for (const char* const option : {"name", "away-limit"})
        if (given.count(option) != 0 && !run.listen)
            return usage("--" + std::string(option) + " goes with --listen");
    run.resume_failed = given.count("resume-failed") != 0;
    run.resume = given.count("resume") != 0 || run.resume_failed;
    run.halt_on_failure = given.count("halt-on-failure") != 0;
    run.keep_hosts = given.count("keep-hosts") != 0;
    run.manager_only = given.count("manager-only") != 0;
    run.dry_run = given.count("dry-run") != 0;
    run.json = given.count("json") != 0;
    run.verbose = given.count("verbose") != 0;
    return success();
}

Status choose_source(const po::variables_map& given, const std::vector<std::string>& command,
                     app::SourceSpec& source) {
    const auto lists = given.count("tasklist") != 0 ? given["tasklist"].as<std::vector<std::string>>()
                                                    : std::vector<std::string>{};
    const bool each = given.count("each") != 0;
    const bool array = given.count("array") != 0;
    if ((each ? 1U : 0U) + (array ? 1U : 0U) + lists.size() != 1) {
        for (const std::string& word : lists)
            if (given.count("monitor") != 0 && (word == "measure" || word == "enforce"))
                return usage("--monitor takes its word with '=': write --monitor=" + word);
        return usage(lists.size() > 1
                         ? "one task list at a time, not " + quote_for_message(lists[0]) + " and " +
                               quote_for_message(lists[1])
                         : std::string("give a task list (- for stdin), or one of --each and --array"));
    }
    if ((each || array) && command.empty())
        return usage(std::string(each ? "--each" : "--array") + " takes a command after --, e.g. -- gzip {}");
    if (!each && !array && !command.empty())
        return usage("a command after -- goes with --each or --array only");
    source.command = command;
    if (Status bad = taskfile::CommandTemplate(command).check(); !bad) return bad;
    source.kind = each    ? app::SourceSpec::Kind::each
                  : array ? app::SourceSpec::Kind::array
                          : app::SourceSpec::Kind::list;
    if (each) source.path = given["each"].as<std::string>();
    if (array) source.indexes = given["array"].as<std::string>();
    if (!lists.empty()) source.path = lists.front();
    return success();
}

// `--listen` has a value that may be left out, which the library takes with `=` only: `--listen=0` then
// stands for any port. So has `--monitor`.
std::vector<std::string> with_left_out_values(const char* const* first, const char* const* end) {
    std::vector<std::string> words(first, end);
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (words[at] == "--monitor") words[at] += "=enforce";
        if (words[at] != "--listen") continue;
        const std::string next = at + 1 < words.size() ? words[at + 1] : "";
        const bool number = !next.empty() && next.find_first_not_of("0123456789") == std::string::npos;
        words[at] += "=" + (number ? next : "0");
        if (number) words.erase(words.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return words;
}

Result<Command> output_command(const po::variables_map& given) {
    const auto& words = given["output"].as<std::vector<std::string>>();
    if (words.size() != 2) return usage("--output takes RUN_DIR and TASK");
    const auto task = parse_count(words[1], 1, std::int64_t{1} << 62);
    if (!task) return usage("--output: TASK: " + task.error().message);
    Command command;
    command.kind = Command::Kind::output;
    command.output_directory = words[0];
    command.output_task = static_cast<std::uint64_t>(*task - 1);
    return command;
}

// Of the list, or of a run directory alone.
Result<Command> why_command(const po::variables_map& given) {
    const auto line = parse_count(given["why"].as<std::string>(), 1, std::int64_t{1} << 62);
    if (!line) return usage("--why: LINE: " + line.error().message);
    Command command;
    command.kind = Command::Kind::why;
    command.why_line = static_cast<std::uint64_t>(*line);
    if (given.count("run-dir") != 0) {
        command.run.run_directory = given["run-dir"].as<std::string>();
        return command;
    }
    if (given.count("array") != 0) return usage("--why: an array has no lines");
    const bool each = given.count("each") != 0;
    const auto lists = given.count("tasklist") != 0 ? given["tasklist"].as<std::vector<std::string>>()
                                                    : std::vector<std::string>{};
    if (lists.size() + (each ? 1U : 0U) != 1)
        return usage("--why LINE takes the task list of the run, or --run-dir DIR");
    command.run.source.path = each ? given["each"].as<std::string>() : lists.front();
    return command;
}

}  // namespace

Result<Command> parse_command_line(int argc, const char* const* argv) {
    // What follows `--` is the user's command and none of our business.
    const char* const* const end = argv + argc;
    const char* const* const dashes =
        std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
    const std::vector<std::string> after(dashes == end ? end : dashes + 1, end);

    const std::vector<std::string> before = with_left_out_values(argv + (argc > 0 ? 1 : 0), dashes);
    po::options_description all = visible_options();
    all.add_options()("tasklist", po::value<std::vector<std::string>>())(
        "wall-time", po::value<std::string>());  // as work_queue_worker spells it
    po::positional_options_description positional;
    positional.add("tasklist", -1);
    po::variables_map given;
    try {
        const auto style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
        po::store(po::command_line_parser(before).options(all).positional(positional).style(style).run(),
                  given);
        po::notify(given);
    } catch (const po::error& wrong) {
        return usage(wrong.what());
    }
    Command command;
    if (given.count("help") != 0) command.kind = Command::Kind::help;
    if (given.count("version") != 0) command.kind = Command::Kind::version;
    if (command.kind != Command::Kind::run) return command;
    if (given.count("output") != 0) return output_command(given);
    if (given.count("why") != 0) return why_command(given);
    if (Status bad = convert(given, command.run); !bad) return bad.error();
    if (Status bad = choose_source(given, after, command.run.source); !bad) return bad.error();
    return command;
}

std::string help_text() {
    std::ostringstream text;
    text << "Usage: work_queue_run [OPTIONS] TASKLIST|-\n"
            "       work_queue_run [OPTIONS] --each FILE -- CMD {}\n"
            "       work_queue_run [OPTIONS] --array RANGES -- CMD {}\n"
            "\n"
            "Runs every line of a shell task list on the cores of this machine, or, started\n"
            "by mpirun or srun, of all ranks. Nothing that has ended is lost: after any\n"
            "interruption the same command with --resume goes on.\n"
         << visible_options()
         << "\nExamples:\n"
            "  work_queue_run tasks.sh                            all cores of this machine\n"
            "  mpirun -n 8 work_queue_run tasks.sh                8 ranks\n"
            "  srun --mpi=pmix work_queue_run --resume tasks.sh   in a requeued batch job\n"
            "  ls *.dat | work_queue_run --each - -- gzip {}      a task per line of stdin\n"
            "  work_queue_run --array 1-1000 --timeout 10m -- ./simulate --seed {}\n"
            "  work_queue_run --listen tasks.sh                   and workers over TCP\n"
            "  work_queue_run --monitor tasks.sh                  what takes more is ended\n"
            "  work_queue_run --output tasks.sh.wq 17             what the 17th task wrote\n"
            "  work_queue_run --why 17 tasks.sh                   why line 17 does not run\n"
            "\nExit codes: 0 all tasks succeeded, 1 some failed, 64 usage, 65 bad input,\n"
            "69 no worker, 70 our bug, 75 interrupted (go on with --resume), 77 not allowed.\n"
            "The run directory's file `status` has it too.\n";
    return without_trailing_blanks(text.str());
}

}  // namespace wq::cli

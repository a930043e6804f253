#include "programs/run/run_options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/units.h"
#include "engine/model/outcome.h"
#include "engine/tasklist/sources.h"
#include "manager/run/job_end.h"
#include "net/catalog/catalog_client.h"
#include "net/session/session_table.h"
#include "programs/command_line.h"
#include "programs/run/run_place.h"
#include "shared_list/replica/other_workers.h"

namespace wq::programs::run {

namespace {

Result<Command> output_command(const Given& given) {
    const auto words = given.texts("output");
    if (words.size() != 2) return usage_error("--output needs RUN and TASK");
    const auto task = parse_count(words[1], 1, std::int64_t{1} << 62);
    if (!task) return usage_error("--output: TASK: " + task.error().message);
    Command command;
    command.kind = Command::Kind::output;
    command.output_directory = directory_of_run(words[0]);
    command.output_task = static_cast<std::uint64_t>(*task - 1);
    return command;
}

// The task list, or the run's directory, determines the run; --run-dir alone does, too.
Result<Command> why_command(const Given& given) {
    const auto line = parse_count(given.text("why"), 1, std::int64_t{1} << 62);
    if (!line) return usage_error("--why: LINE: " + line.error().message);
    Command command;
    command.kind = Command::Kind::why;
    command.why_line = static_cast<std::uint64_t>(*line);
    if (given.has("run-dir")) {
        command.run.run_directory = given.text("run-dir");
        return command;
    }
    if (given.has("array")) return usage_error("--why: an array has no lines to ask about");
    const bool each = given.has("each");
    const auto lists = given.texts("tasklist");
    if (lists.size() + (each ? 1U : 0U) != 1)
        return usage_error("--why LINE needs the task list of the run, or --run-dir DIR");
    command.run.source.path = each ? given.text("each") : lists.front();
    std::error_code unknown;
    if (std::filesystem::is_directory(command.run.source.path, unknown))
        command.run.run_directory = command.run.source.path;
    return command;
}

Command status_command(const Given& given) {
    Command command;
    command.kind = Command::Kind::status;
    command.status_of = given.text("status");
    command.run.json = given.has("json");
    return command;
}

// NOLINTNEXTLINE(readability-function-size): a table
OptionTable options_of(RunOptions& run) {
    return {
        {group, "Tasks"},
        {"each", "FILE",
         "run CMD (after --) for each line of FILE (- for stdin); the line replaces {} or is appended"},
        {"array", "RANGES",
         "run CMD (after --) for each index, e.g. 1-1000000:2,8; the index replaces {} or is appended"},
        {"index-variable", "NAME",
         "with --each or --array: also pass the index as NAME, e.g. SLURM_ARRAY_TASK_ID"},
        {"shared-list", "",
         "share TASKLIST, [USER@HOST:]FILE, with runtask workers, which take and mark its lines",
         Values::one},
        {"once", "", "with --shared-list: end when no line is left to run (default: wait for more lines)",
         &run.shared.once},
        {"poll", "TIME", "with --shared-list: read TASKLIST every TIME while no line can run (default: 3)"},
        {"lease", "TIME",
         "with --shared-list: let other workers take over this run's lines after TIME without a sign of life "
         "(default: 10m; 0: never)"},
        {"shell", "PATH", "shell for lines that need one (default: bash, else sh)", &run.shell},
        {group, "Resources and limits of a task, unless its line sets them"},
        {"cores", "N", "cores (default: 1)"},
        {"memory", "SIZE",
         "memory, e.g. 4G; a task that exceeds this limit is killed (default: its cores' share of the "
         "worker's memory, not enforced)"},
        {"disk", "SIZE", "disk space (default: none reserved)"},
        {"gpus", "N", "GPUs (default: 0)"},
        {"bind", "none|core|numa",
         "bind each task to its cores, or to all cores of the same NUMA nodes (default: core, if no two "
         "ranks share cores)"},
        {"threads-per-core", "N", "use the first N hardware threads of each core (default: all)"},
        {"timeout", "TIME", "wall time limit of one attempt, e.g. 90, 1h30m, 1-00:00:00 (default: none)"},
        {"retries", "N", "retry a task at most N times if it fails by itself (default: 0)"},
        {"keep-batch-environment", "", "pass the batch system's variables to tasks unchanged",
         &run.defaults.keeps_batch_environment},
        {"monitor", "[=measure]",
         "measure the usage of each task with all its processes, and kill tasks that exceed their cores, "
         "memory or disk; =measure: only measure"},
        {"monitor-output", "DIR", "measure the usage of each task, and write a report on each task to DIR",
         &run.monitor_output},
        {group, "The run"},
        {"jobs,j", "N", "run at most N tasks at once (default: as many as fit)"},
        {"run-dir", "DIR",
         "directory for all files of the run (default: TASKLIST.wq, array.wq or stdin.wq; a batch job "
         "appends -JOBID)",
         &run.run_directory},
        {"resume", "", "continue the run of this list, or start a run if there is none", &run.resume},
        {"resume-failed", "", "like --resume, and also rerun failed tasks", &run.resume_failed},
        {"max-losses", "N", "fail a task when it was lost N times with its worker (default: 3)"},
        {"speculate", "TIMES",
         "start a speculative copy of a task that runs longer than TIMES the mean of its category, e.g. 2, "
         "when no task is waiting; the first success counts (default: none)"},
        {"halt-on-failure", "", "stop the run when a task fails for good", &run.halt_on_failure},
        {"keep-hosts", "", "do not exclude hosts on which tasks fail that succeed elsewhere",
         &run.keep_hosts},
        {"manager-only", "", "run no tasks on rank 0, which then only manages", &run.manager_only},
        {"listen", "[PORT]",
         "accept workers over TCP (default: any free port); workers join with RUN_DIR/contact"},
        {"grow", "SYSTEM:[MIN-]MAX",
         "keep MIN (default: 0) to MAX workers in a batch system, as many as there is work for, e.g. "
         "slurm:0-20 (see work_queue_factory); implies --listen"},
        {"grow-options", "WORDS",
         "with --grow: more options of work_queue_factory, e.g. '--cores 4 --wall-time 2h'"},
        {"name", "NAME", "with --listen: name by which work_queue_worker -M NAME finds the run", &run.name},
        {"catalog", "HOST[:PORT],...",
         "with --name: announce the run to these catalog servers (default: $CATALOG_HOST; none if unset)",
         &run.catalog},
        {"password", "FILE",
         "with --listen: let workers without the contact file join with --ssl --password FILE (default: a "
         "new key for each start)",
         &run.password_file},
        {"reconnect-timeout", "TIME",
         "with --listen: time for which a disconnected worker keeps its tasks (default: 60; 0, or at least "
         "10)"},
        {"tickets", "auto|rma|message",
         "how nodes get their next range of tasks from rank 0: by message, or, with --array, from a counter "
         "in rank 0's MPI window (rma); auto measures both at the start, and uses rma only if rma is "
         "clearly faster (default: auto)"},
        {"walltime", "TIME",
         "time limit of the run; the run drains in its last 60 s (default: the batch job's end)"},
        {"grace", "TIME", "let running tasks finish for TIME after a signal (default: 10)"},
        {"storage-timeout", "TIME",
         "retry writing to a full disk for TIME, then stop with exit code 75 (default: 60)"},
        {"output-limit", "SIZE", "bytes to keep of each output stream of a task (default: 8M)"},
        {group, "Output"},
        {"dry-run", "", "print the tasks, each with a worker that could run it; run nothing", &run.dry_run},
        {"output", "RUN TASK",
         "print what a task of a run wrote, and exit; RUN is the run's list or directory, TASK the task's "
         "number, from 1, as in joblog.tsv",
         Values::several},
        {"why", "LINE", "print why the task in LINE does not run, or how it ended, and exit"},
        {"status", "RUN",
         "print the progress, rate and time left of a run, and exit; RUN is the run's list, directory or "
         "contact file"},
        {"progress", "auto|always|never",
         "show a progress line on a terminal; elsewhere, print a line every second (always), or every 10 s "
         "in the first minute, then every minute (auto) (default: auto)"},
        {"watch", "", "show the run on a full screen while it runs, as work_queue_status --watch does", &run.watch},
        {"plots", "auto|always|never",
         "draw plots and write report.html at the end (default: auto, if the run took at least 5 s)"},
        {"json", "", "print the summary, or --status, as JSON on stdout", &run.json},
        {"stats-log", "FILE", "also write Work Queue's statistics log to FILE", &run.stats_log},
        {"verbose,v", "", "print more messages", &run.verbose},
        {"version", "", "print the version and exit"},
        {"help,h", "", "print this help and exit"},
    };
}

// Converts one of these words.
template <class T>
auto one_of(const std::map<std::string, T>& words) {
    return [=](const std::string& word) -> Result<T> {
        const auto found = words.find(word);
        if (found != words.end()) return found->second;
        std::string known;
        for (const auto& [text, value] : words) known += (known.empty() ? "" : ", ") + text;
        return Error{ExitCode::usage, quote_for_message(word) + " is not one of " + known};
    };
}

// Without cores, all tasks would start at once. A line that only waits can set cores=0 itself.
Result<Count> default_cores(const std::string& text) {
    auto cores = parse_count_with_fraction(text, 0, most_cores);
    if (cores && *cores == 0)
        return Error{
            ExitCode::usage,
            "tasks need more than 0 cores; for tasks that only wait, write #WQ cores=0 above their lines"};
    return cores;
}

Result<double> multiple(const std::string& text) {
    double value = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (bad == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 1e6) return value;
    return Error{ExitCode::usage, quote_for_message(text) + " is not a number from 1 to 1000000"};
}

Result<Duration> disconnect_limit(const std::string& text) {
    auto limit = parse_duration(text);
    if (limit && !net::session::sound_disconnect_limit(*limit))
        return Error{ExitCode::usage, "give at least 10 s, or 0 (a disconnected worker is lost at once)"};
    return limit;
}

Result<std::string> variable_name(const std::string& text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!text.empty() && letter(text.front()) &&
        std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); }))
        return text;
    return Error{ExitCode::usage,
                 quote_for_message(text) + " is not a variable name; use letters, digits and _"};
}

// SYSTEM:[MIN-]MAX; SYSTEM may be a path with a ':' in it.
Result<Grow> parse_grow(const std::string& word) {
    const Error bad{ExitCode::usage,
                    quote_for_message(word) + " is not SYSTEM:MAX or SYSTEM:MIN-MAX, such as slurm:0-20"};
    const std::size_t colon = word.rfind(':');
    if (colon == std::string::npos || colon == 0) return bad;
    const std::string range = word.substr(colon + 1);
    const std::size_t dash = range.find('-');
    constexpr std::int64_t most = 100'000;
    const auto last = parse_count(dash == std::string::npos ? range : range.substr(dash + 1), 1, most);
    const auto first =
        dash == std::string::npos ? Result<std::int64_t>(0) : parse_count(range.substr(0, dash), 0, most);
    if (!first || !last || *first > *last) return bad;
    return Grow{word.substr(0, colon), *first, *last, {}};
}

void take_grow(const Given& given, OptionTaker& take, RunOptions& run) {
    take("grow", run.grow, parse_grow);
    if (run.grow && !run.listen) run.listen = 0;
    if (!given.has("grow-options")) return;
    if (!run.grow) return take.check(usage_error("--grow-options needs --grow"));
    run.grow->options = given.text("grow-options");
}

void take_monitoring(const Given& given, OptionTaker& take, RunOptions& run) {
    run.monitoring.measures = given.has("monitor-output") || given.has("monitor");
    if (given.has("monitor-output") && run.monitor_output.empty())
        take.check(usage_error("--monitor-output needs a folder"));
    take("monitor", run.monitoring.enforces, one_of<bool>({{"enforce", true}, {"measure", false}}));
    run.ends_none = given.has("monitor") && !run.monitoring.enforces;
}

Status convert(const Given& given, RunOptions& run) {
    OptionTaker take(given);
    take("cores", run.defaults.needs.cores, default_cores);
    take("memory", run.defaults.needs.memory_mb, parse_amount_mb);
    take("disk", run.defaults.needs.disk_mb, parse_amount_mb);
    take("gpus", run.defaults.needs.gpus,
         [](const std::string& text) { return parse_count_with_fraction(text, 0, most_cores); });
    take("bind", run.bind, parse_binding);
    take("threads-per-core", run.threads_per_core, parse_threads);
    take("timeout", run.defaults.timeout, parse_duration);
    take("retries", run.defaults.retries, between(0, 1'000'000));
    take("jobs", run.jobs, between(1, 1'000'000));
    take("max-losses", run.max_losses, between(1, 1'000'000));
    take("grace", run.grace, parse_duration);
    take("walltime", run.walltime, parse_duration);
    if (run.walltime && *run.walltime <= manager::run::drain_before_end)
        take.check(usage_error("--walltime: tasks are dispatched until " +
                               format_duration(manager::run::drain_before_end) +
                               " before the end: give more than that"));
    take("poll", run.shared.poll, shared_list::replica::parse_poll);
    take("lease", run.shared.lease, shared_list::replica::parse_lease);
    take("storage-timeout", run.storage_retry_limit, parse_duration);
    take("reconnect-timeout", run.disconnect_limit, disconnect_limit);
    take("listen", run.listen, between(0, 65535));
    take_grow(given, take, run);
    take_monitoring(given, take, run);
    take("index-variable", run.index_variable, variable_name);
    take("output-limit", run.output_limit, [](const std::string& text) -> Result<std::int64_t> {
        auto bytes = parse_size(text, 1);
        if (bytes && static_cast<std::uint64_t>(*bytes) > engine::model::most_output_limit)
            return Error{ExitCode::usage, "at most 256M; redirect larger outputs to a file"};
        return bytes;
    });
    take("tickets", run.tickets,
         one_of<TicketMode>(
             {{"auto", TicketMode::automatic}, {"rma", TicketMode::rma}, {"message", TicketMode::message}}));
    take("progress", run.progress,
         one_of<Progress>(
             {{"auto", Progress::automatic}, {"always", Progress::always}, {"never", Progress::never}}));
    take("plots", run.plots,
         one_of<Plots>({{"auto", Plots::automatic}, {"always", Plots::always}, {"never", Plots::never}}));
    take("speculate", run.speculate, multiple);
    if (!take.status()) return take.status();
    if (!run.catalog.empty() && run.name.empty()) return usage_error("--catalog needs --name");
    if (const auto hosts = net::catalog::read_catalog_hosts(run.catalog); !hosts)
        return usage_error("--catalog: " + hosts.error().message);
    for (const char* const option : {"name", "password", "reconnect-timeout"})
        if (given.has(option) && !run.listen)
            return usage_error("--" + std::string(option) + " needs --listen");
    if (run.resume_failed) run.resume = true;
    return success();
}

Status choose_source(const Given& given, const std::vector<std::string>& command,
                     manager::run::SourceSpec& source) {
    const auto lists = given.texts("tasklist");
    const bool each = given.has("each");
    const bool array = given.has("array");
    if ((each ? 1U : 0U) + (array ? 1U : 0U) + lists.size() != 1) {
        for (const std::string& word : lists)
            if (given.has("monitor") && (word == "measure" || word == "enforce"))
                return usage_error("--monitor takes its value after '=': write --monitor=" + word);
        if ((each || array) && command.empty())
            return Error{ExitCode::usage, each ? "put -- before the command: --each files.txt -- gzip {}"
                                               : "put -- before the command: --array 1-3 -- echo {}"};
        if (each || array) return usage_error("give only one of a task list, --each and --array");
        return usage_error(lists.size() > 1
                               ? "one task list at a time, not " + quote_for_message(lists[0]) + " and " +
                                     quote_for_message(lists[1])
                               : std::string("give a task list (- for stdin), or one of --each and --array"));
    }
    if ((each || array) && command.empty())
        return usage_error(std::string(each ? "--each" : "--array") +
                           " needs a command after --, e.g. -- gzip {}");
    if (!each && !array && !command.empty()) return usage_error("a command after -- needs --each or --array");
    source.command = command;
    if (Status bad = engine::tasklist::CommandTemplate(command).check(); !bad) return bad;
    source.kind = each    ? manager::run::SourceSpec::Kind::each
                  : array ? manager::run::SourceSpec::Kind::array
                          : manager::run::SourceSpec::Kind::list;
    if (each) source.path = given.text("each");
    if (array) source.indexes = given.text("array");
    if (!lists.empty()) source.path = lists.front();
    return success();
}

Status check_shared(const Given& given, RunOptions& run) {
    manager::run::SourceSpec& source = run.source;
    if (!given.has("shared-list")) {
        for (const char* const option : {"once", "poll", "lease"})
            if (given.has(option)) return usage_error("--" + std::string(option) + " needs --shared-list");
        return success();
    }
    if (source.kind != manager::run::SourceSpec::Kind::list || source.path == "-")
        return usage_error("--shared-list needs a task list in a file");
    for (const char* const option : {"resume", "resume-failed", "dry-run"})
        if (given.has(option))
            return usage_error("--" + std::string(option) +
                               ": the shared list itself says what is done; see " +
                               (std::string(option) == "dry-run" ? "runtask --check" : "runtask --status"));
    source.kind = manager::run::SourceSpec::Kind::shared;
    const auto lapse = shared_list::replica::lapse_of(Instant{}, run.shared.lease);
    const Duration kept = run.listen ? net::session::grace_of(run.disconnect_limit) : Duration{0};
    if (lapse && *lapse - Instant{} < kept)
        return usage_error("--lease: with --listen, give at least " +
                           format_duration(kept * 10 / 9 + std::chrono::seconds(1)) +
                           ": a disconnected TCP worker runs its lines for up to " + format_duration(kept) +
                           " (--reconnect-timeout), and no other worker may take these lines over earlier");
    return success();
}

// Other names of options: former ones, and those of work_queue_worker.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {
    {"--away-limit", "--reconnect-timeout"},
    {"--storage-patience", "--storage-timeout"},
    {"--wall-time", "--walltime"},
};

// Replaces other names by the present ones.
std::vector<std::string> with_present_names(std::vector<std::string> words) {
    for (std::string& word : words) {
        const std::string_view name = std::string_view(word).substr(0, word.find('='));
        for (const auto& [other, present] : other_names)
            if (name == other) {
                word.replace(0, other.size(), present);
                break;
            }
    }
    return words;
}

// The values of `--listen` and `--monitor` are optional. The library accepts such values only after `=`, so
// `--listen` becomes `--listen=0` (any port).
std::vector<std::string> with_left_out_values(std::vector<std::string> words) {
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

}  // namespace

Result<Command> parse_command_line(int argc, const char* const* argv) {
    // Words after `--` belong to the user's command.
    const char* const* const end = argv + argc;
    const char* const* const dashes =
        std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
    const std::vector<std::string> after(dashes == end ? end : dashes + 1, end);

    const std::vector<std::string> before =
        with_left_out_values(with_present_names(words_of(static_cast<int>(dashes - argv), argv)));
    Command command;
    const auto read = read_options(before, options_of(command.run), "tasklist");
    if (!read) return read.error();
    const Given& given = *read;
    if (given.has("help")) command.kind = Command::Kind::help;
    if (given.has("version")) command.kind = Command::Kind::version;
    if (command.kind != Command::Kind::run) return command;
    if (given.has("output")) return output_command(given);
    if (given.has("why")) return why_command(given);
    if (given.has("status")) return status_command(given);
    if (Status bad = convert(given, command.run); !bad) return bad.error();
    if (Status bad = choose_source(given, after, command.run.source); !bad) return bad.error();
    if (Status bad = check_shared(given, command.run); !bad) return bad.error();
    return command;
}

std::string help_text() {
    RunOptions none;
    return help_with(
        "Usage: work_queue_run [OPTIONS] TASKLIST|-\n"
        "       work_queue_run [OPTIONS] --each FILE -- CMD {}\n"
        "       work_queue_run [OPTIONS] --array RANGES -- CMD {}\n"
        "\n"
        "Runs every line of a shell task list on the cores of this machine or, under\n"
        "mpirun or srun, on all ranks. No finished task is lost: after any interruption,\n"
        "the same command with --resume continues the run.\n",
        options_of(none),
        "\nExamples:\n"
        "  work_queue_run tasks.sh                            all cores of this machine\n"
        "  mpirun -n 8 work_queue_run tasks.sh                8 ranks\n"
        "  srun --mpi=pmix work_queue_run --resume tasks.sh   in a requeued batch job\n"
        "  ls *.dat | work_queue_run --each - -- gzip {}      a task per line of stdin\n"
        "  work_queue_run --array 1-1000 --timeout 10m -- ./simulate --seed {}\n"
        "  work_queue_run --listen tasks.sh                   also accept TCP workers\n"
        "  work_queue_run --grow slurm:20 tasks.sh            also submit up to 20\n"
        "  work_queue_run --shared-list --once host:tasks.sh  as a worker of runtask\n"
        "  work_queue_run --monitor tasks.sh                  kill tasks over limits\n"
        "  work_queue_run --output tasks.sh.wq 17             print the output of task 17\n"
        "  work_queue_run --why 17 tasks.sh                   why line 17 does not run\n"
        "  work_queue_run --status tasks.sh                   print its progress\n"
        "\nExit codes: 0 all tasks succeeded, 1 some failed, 64 usage, 65 bad input,\n"
        "69 no worker, 70 our bug, 71 no processes, open files or memory left, or stdout\n"
        "cannot be written, 75 interrupted (--resume continues), 77 not allowed.\n"
        "RUN_DIR/status also contains the exit code.\n");
}

}  // namespace wq::programs::run

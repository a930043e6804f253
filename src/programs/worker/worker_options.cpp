#include "programs/worker/worker_options.h"

#include <algorithm>
#include <charconv>

#include "base/units.h"
#include "engine/model/resources.h"
#include "engine/model/task.h"
#include "engine/tasklist/settings.h"
#include "net/contact/registry.h"
#include "net/session/session_table.h"
#include "programs/command_line.h"
#include "programs/worker/coprocess_options.h"

namespace wq::programs::worker {

namespace {

constexpr std::size_t longest_regex = 1000;

// NOLINTNEXTLINE(readability-function-size): a table
OptionTable options_of(WorkerCommand& command) {
    return {
        {group, "The manager"},
        {"contact", "FILE", "contact file of the manager, with its addresses, key and certificate",
         &command.work.contact},
        {"manager-name,M", "REGEX",
         "serve managers whose whole name matches REGEX, one after another, those with waiting tasks first "
         "(default: $WORK_QUEUE_NAME, if you give no manager)"},
        {"catalog,C", "HOSTS",
         "with -M: look up names also on these catalog servers: HOST[:PORT],... (default: $CATALOG_HOST)"},
        {"password,P", "FILE",
         "password file; worker and manager prove to each other that they know its content",
         &command.work.password_file},
        {"ssl", "", "use TLS; the worker checks the manager's certificate only with --contact or --ssl-ca",
         &command.work.ssl},
        {"ssl-ca", "FILE", "use TLS, and check the manager's certificate against the authorities in FILE",
         &command.work.ssl_ca},
        {"connect-timeout", "TIME", "leave if no manager is reached for TIME (default: 15m)"},
        {"idle-timeout", "TIME", "leave if no task arrives for TIME (default: 15m)"},
        {"timeout,t", "TIME", "set --connect-timeout and --idle-timeout"},
        {"min-backoff,i", "TIME", "wait at least TIME between attempts to connect (default: 1)"},
        {"max-backoff,b", "TIME", "wait at most TIME between attempts to connect (default: 60)"},
        {"single-shot", "", "leave when the first manager ends or dismisses this worker",
         &command.work.single_shot},
        {group, "Resources that the worker offers"},
        {"cores", "N|all", "cores (default: all that this process may use; 0 also means all)"},
        {"memory", "MB|all", "memory in MB, or a size such as 4G (default: all; 0 also means all)"},
        {"disk", "MB|all",
         "disk space in MB, or a size such as 20G, at most the free space (default: all; 0 also means all)"},
        {"gpus", "N|all", "GPUs (default: all)"},
        {"bind", "none|core|numa",
         "bind each task to its cores, or to all cores of the same NUMA nodes (default: core, if the worker "
         "has its cores to itself)"},
        {"threads-per-core", "N", "use the first N hardware threads of each core (default: all)"},
        {"wall-time", "TIME",
         "end after TIME, and do not start tasks that need longer (default: the batch job's end)"},
        {"feature", "NAME", "offer NAME to tasks that require it; may be repeated", &command.work.features},
        {"detect", "", "print what the worker would offer and why, and exit"},
        {"json", "", "with --detect: print JSON", &command.json},
        {"draw", "TASK",
         "with --detect: draw the machine; =\"cores=4 gpus=1\" shows where such tasks run when the worker is "
         "full",
         Values::optional},
        {group, "Coprocesses for remote tasks"},
        {"coprocess", "FILE",
         "run remote tasks in coprocesses started from FILE, which work_queue_serverize makes",
         &command.work.coprocesses.file},
        {"coprocesses-total", "N", "start N coprocesses (default: one for each core)"},
        {"coprocess-cores", "N", "cores of all coprocesses together (default: all that the worker offers)"},
        {"coprocess-memory", "MB",
         "memory of all coprocesses together (default: all that the worker offers)"},
        {"coprocess-disk", "MB",
         "disk space of all coprocesses together (default: all that the worker offers)"},
        {"coprocess-gpus", "N",
         "GPUs of all coprocesses together (default: all that the worker offers). Each coprocess gets an "
         "equal share of cores, memory, disk and GPUs; a coprocess that exceeds its share is restarted"},
        {group, "Operation"},
        {"workdir,s", "DIR",
         "folder for the worker's workspace (default: $CCTOOLS_TEMP, $_CONDOR_SCRATCH_DIR, $TMPDIR, $TEMP, "
         "$TMP or /tmp)",
         &command.work.workdir},
        {"os,O", "NAME", "value of $OS in paths of input files (default: uname -s)", &command.work.os},
        {"arch,A", "NAME", "value of $ARCH in paths of input files (default: uname -m)", &command.work.arch},
        {"keep-cache", "DIR", "keep cached inputs in DIR for the next worker that uses DIR",
         &command.work.kept_cache},
        {"url-timeout", "TIME", "give up on a URL after TIME without data (default: 60)"},
        {"grace", "TIME", "let running tasks finish for TIME after a signal (default: 10)"},
        {"task-wrapper", "CMD", "run each task as CMD; the task's line replaces {} or is appended",
         &command.work.task_wrapper},
        {"from-factory", "NAME", "name of the factory that started the worker", &command.work.factory},
        {"parent-death", "", "leave when the parent process ends", &command.work.parent_death},
        {"volatility", "P", "exit abruptly with probability P per minute, for tests"},
        {"debug,d", "SUBSYSTEM", "write a debug log of SUBSYSTEM (all: everything)", &command.work.debug},
        {"debug-file,o", "FILE", "file for --debug (default: stderr)", &command.work.debug_file},
        {"debug-rotate-max", "BYTES",
         "start a new debug log when the log reaches BYTES (default: 10M; 0: never)"},
        {"version,v", "", "print the version and exit"},
        {"help,h", "", "print this help and exit"},
        // Of CCTools, of former versions, and for tests.
        {"master-name,N", "X"},
        {"project-name", "X"},
        {"tcp-window-size,w", "X"},
        {"connection-mode", "X"},
        {"disable-symlinks", ""},
        {"disk-allocation", ""},
        {"tlq", "X"},
        {"advertise,a", ""},
        {"measure-capacity,c", ""},
        {"ignored-p,p", "X"},
        {"disk-threshold,z", "X"},
        {"memory-threshold", "X"},
        {"walltime", "X"},
        {"time-scale", "X"},
    };
}

// Accepted so that command lines for Work Queue keep working. They have no effect; the worker warns if a user
// would rely on them.
struct WithoutEffect {
    const char* name;
    const char* why;
};
constexpr WithoutEffect without_effect[] = {
    {"connection-mode", "the worker tries all addresses of a manager and keeps the first that answers"},
    {"tcp-window-size", "the kernel tunes it"},
    {"disable-symlinks", "tasks' folders contain no links"},
    {"disk-allocation", "tasks have no separate file system"},
    {"tlq", "there is no log server"},
};

// Options of other kinds of workers are refused.
std::optional<std::string> refused_word(std::string_view word) {
    for (const char* name : {"--foreman", "--specify-log", "--fast-abort", "--bandwidth", "-Z", "-F", "-f"})
        if (word == name || (name[1] == '-' && word.starts_with(name)))
            return std::string(word) + ": this worker is not a foreman; connect all workers to the manager";
    return std::nullopt;
}

using Variable = std::function<const char*(const char*)>;

using Amount = std::optional<std::int64_t>;

// "all", "-1" and, except for GPUs, "0" mean everything.
Result<Amount> amount(const std::string& word, bool in_mb, bool zero_is_all) {
    if (word == "all" || word == "-1" || (zero_is_all && word == "0")) return Amount{};
    if (!in_mb) {
        const auto count = parse_count(word, 0, most_cores);
        if (!count) return count.error();
        return Amount{*count};
    }
    const auto size = parse_amount_mb(word);
    if (!size) return size.error();
    return Amount{*size};
}

// A worker inside a task has that task's allocation, perhaps a fraction of a core or none. It needs one core
// to run anything, and cannot offer a GPU that it shares.
Result<Amount> amount_of_task(const std::string& word, std::int64_t least) {
    if (word == "all" || word == "-1") return Amount{};
    const auto count = parse_count_with_fraction(word, 0, most_cores);
    if (!count) return count.error();
    return Amount{std::max(count->rounded_down(), least)};
}

Status take_amounts(const Given& given, const Variable& variable, WorkerProgramOptions& work) {
    struct Kind {
        const char* option;
        const char* variable;
        bool in_mb;
        Amount& target;
        node::machine::BoundKind what;
    };
    using node::machine::BoundKind;
    const bool zero_is_all = true;
    for (const Kind& kind : {Kind{"cores", "CORES", false, work.cores, BoundKind::cores},
                             Kind{"memory", "MEMORY", true, work.memory_mb, BoundKind::memory},
                             Kind{"disk", "DISK", true, work.disk_mb, BoundKind::disk},
                             Kind{"gpus", "GPUS", false, work.gpus, BoundKind::gpus}}) {
        std::string& said_by = work.said_by[static_cast<std::size_t>(kind.what)];
        const bool no_gpus = kind.option == std::string("gpus");
        std::string name = std::string("--") + kind.option;
        std::string word;
        bool of_task = false;
        if (given.has(kind.option)) {
            word = given.text(kind.option);
        } else if (const char* value = variable(kind.variable); value != nullptr && *value != '\0') {
            name = kind.variable + std::string(" in the environment");
            said_by = name;
            word = value;
            of_task = !kind.in_mb;
        } else {
            continue;
        }
        auto value = of_task ? amount_of_task(word, no_gpus ? 0 : 1)
                             : amount(word, kind.in_mb, zero_is_all && !no_gpus);
        if (!value) return usage_error(name + ": " + value.error().message);
        kind.target = *value;
    }
    return success();
}

Status take_binding(const Given& given, WorkerProgramOptions& work) {
    OptionTaker take(given);
    take("bind", work.bind, parse_binding);
    take("threads-per-core", work.threads_per_core, parse_threads);
    return take.status();
}

Status take_drawn_task(const Given& given, WorkerCommand& command) {
    const std::string text = given.text("draw");
    if (text.empty()) return success();
    engine::tasklist::Settings said;
    if (const Status bad = engine::tasklist::apply_settings(text, said); !bad)
        return usage_error("--draw: " + bad.error().message);
    command.drawn_task = engine::model::Needs{said.cores.value_or(-1), said.memory_mb.value_or(-1),
                                              said.disk_mb.value_or(-1), said.gpus.value_or(-1)};
    return success();
}

// --detect needs no manager.
bool takes_detect(const Given& given, WorkerCommand& command) {
    command.draw = given.has("draw");
    if (given.has("detect")) command.kind = WorkerCommand::Kind::detect;
    return command.kind == WorkerCommand::Kind::detect;
}

Result<double> fraction(const std::string& word, double most) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !(value >= 0) || value > most)
        return Error{ExitCode::usage, quote_for_message(word) + " is not a number from 0 to " +
                                          std::to_string(static_cast<int>(most))};
    return value;
}

Status take_times(const Given& given, WorkerProgramOptions& work) {
    OptionTaker take(given);
    Duration wall{0};
    take("timeout", work.idle_timeout, parse_duration);
    take("timeout", work.connect_timeout, parse_duration);
    take("idle-timeout", work.idle_timeout, parse_duration);
    take("connect-timeout", work.connect_timeout, parse_duration);
    take("min-backoff", work.min_backoff, parse_duration);
    take("max-backoff", work.max_backoff, parse_duration);
    take("grace", work.grace, parse_duration);
    take("url-timeout", work.url_timeout, parse_duration);
    if (work.url_timeout <= Duration{0}) take.check(usage_error("--url-timeout 0: give at least 1 second"));
    for (const char* const name : {"walltime", "wall-time"})  // the first is work_queue_run's spelling
        take(name, wall, parse_duration);
    take("debug-rotate-max", work.debug_rotate, parse_bytes);
    take("volatility", work.volatility, [](const std::string& word) { return fraction(word, 1); });
    take("time-scale", work.time_scale, [](const std::string& word) { return fraction(word, 1000); });
    if (!take.status()) return take.status();
    if (wall > Duration{0}) work.wall_time = wall;
    if (work.max_backoff < work.min_backoff)
        return usage_error("--max-backoff " + format_duration(work.max_backoff) + " is below --min-backoff " +
                           format_duration(work.min_backoff));
    return success();
}

std::string value_of(const Variable& variable, const char* name) {
    const char* const value = variable(name);
    return value == nullptr ? "" : value;
}

// Names are looked for on servers that the user named, and on no others.
Status take_name(const Given& given, const Variable& variable, WorkerProgramOptions& work) {
    if (work.manager_regex.empty()) {
        if (given.has("catalog"))
            work.remarks.push_back("--catalog has no effect: the manager is not given by name (-M)");
        return success();
    }
    if (work.manager_regex.size() > longest_regex) return usage_error("-M: the expression is too long");
    if (const Status bad = net::contact::check_manager_pattern(work.manager_regex); !bad)
        return usage_error("-M: " + bad.error().message);
    const std::string said = given.text("catalog");
    auto hosts = net::catalog::named_catalog_hosts(said, value_of(variable, "CATALOG_HOST"));
    if (!hosts) return usage_error((said.empty() ? "" : "--catalog: ") + hosts.error().message);
    work.catalogs = std::move(*hosts);
    return success();
}

Status take_place(const Given& given, const Variable& variable, WorkerProgramOptions& work) {
    const std::string required = value_of(variable, "WORK_QUEUE_REQUIRE_KEY");
    work.require_key = !required.empty() && required != "0";
    const auto words = given.texts("place");
    for (const char* const name : {"master-name", "project-name", "manager-name"})
        if (given.has(name)) work.manager_regex = given.text(name);
    if (words.empty() && work.contact.empty() && work.manager_regex.empty())
        work.manager_regex = value_of(variable, "WORK_QUEUE_NAME");
    const int ways =
        (words.empty() ? 0 : 1) + (work.contact.empty() ? 0 : 1) + (work.manager_regex.empty() ? 0 : 1);
    if (ways != 1)
        return usage_error(ways == 0
                               ? "name the manager: HOST PORT, --contact FILE or -M NAME"
                               : "name the manager in one way only: HOST PORT, --contact FILE or -M NAME");
    if (const Status bad = take_name(given, variable, work); !bad) return bad;
    if (words.empty()) return success();
    if (words.size() > 2)
        return usage_error("one manager at a time: HOST PORT, not also " + quote_for_message(words[2]));
    std::uint16_t port = 0;
    if (words.size() == 2) {
        const auto number = parse_count(words[1], 1, 65535);
        if (!number) return usage_error("PORT: " + number.error().message);
        port = static_cast<std::uint16_t>(*number);
    }
    auto addresses = net::frames::parse_addresses(words[0], port);
    if (!addresses) return usage_error(addresses.error().message);
    work.managers = std::move(*addresses);
    return success();
}

}  // namespace

Result<WorkerCommand> parse_worker_command_line(int argc, const char* const* argv, const Variable& variable) {
    for (int i = 1; i < argc; ++i)
        if (const auto why = refused_word(argv[i])) return usage_error(*why);
    WorkerCommand command;
    const auto read = read_options(with_one_spelling(words_of(argc, argv)), options_of(command));
    if (!read) return read.error();
    const Given& given = *read;
    if (given.has("help")) command.kind = WorkerCommand::Kind::help;
    if (given.has("version")) command.kind = WorkerCommand::Kind::version;
    if (command.kind != WorkerCommand::Kind::work) return command;
    WorkerProgramOptions& work = command.work;
    const bool detects = takes_detect(given, command);
    if (!detects && (command.json || command.draw))
        return usage_error(std::string(command.json ? "--json" : "--draw") + " needs --detect");
    if (command.json && command.draw) return usage_error("--json and --draw: give only one");
    if (const Status bad = take_drawn_task(given, command); !bad) return bad.error();
    for (const Status& status : {detects ? success() : take_place(given, variable, work),
                                 take_times(given, work), take_amounts(given, variable, work),
                                 take_binding(given, work), take_coprocesses(given, work.coprocesses)})
        if (!status) return status.error();
    for (const std::string& name : {work.os, work.arch})
        if (!net::session::is_platform(name))
            return usage_error("--os and --arch " + quote_for_message(name) +
                               ": use letters, digits, '_', '-' and '.', not '.' first");
    for (const std::string& feature : work.features)
        if (feature.starts_with(engine::model::function_feature))
            return usage_error(
                "--feature " + quote_for_message(feature) +
                ": workers of programs announce their functions themselves; no other worker has functions");
    for (const std::string& feature : work.features)
        if (feature.starts_with(engine::model::coprocess_feature) ||
            feature.starts_with(engine::model::coprocess_feature_of_cctools))
            return usage_error("--feature " + quote_for_message(feature) + ": give --coprocess FILE");
    if (!work.ssl_ca.empty()) work.ssl = true;
    for (const WithoutEffect& option : without_effect)
        if (given.has(option.name))
            work.remarks.push_back(std::string("--") + option.name + " has no effect: " + option.why);
    if (given.has("connection-mode")) {
        const std::string mode = given.text("connection-mode");
        if (mode != "by_ip" && mode != "by_hostname" && mode != "by_apparent_ip")
            return usage_error("--connection-mode: " + quote_for_message(mode) +
                               " is not one of by_ip, by_hostname, by_apparent_ip");
    }
    return command;
}

std::string worker_help_text() {
    WorkerCommand none;
    return help_with(
        "Usage: work_queue_worker [OPTIONS] HOST PORT\n"
        "       work_queue_worker [OPTIONS] \"HOST:PORT;HOST:PORT\"\n"
        "       work_queue_worker [OPTIONS] --contact FILE\n"
        "       work_queue_worker [OPTIONS] -M REGEX\n"
        "       work_queue_worker [OPTIONS] --detect [--json | --draw[=TASK]]\n"
        "\n"
        "Runs tasks of a manager on this machine, and reconnects if the connection is\n"
        "lost. On SIGTERM, SIGINT, SIGHUP, SIGUSR1 or SIGUSR2, the worker returns tasks\n"
        "that have not started, and lets running tasks finish for a while (--grace). When\n"
        "the worker ends, all processes of its tasks are killed and its workspace is\n"
        "removed.\n",
        options_of(none),
        "\nThe variables CORES, MEMORY, DISK and GPUS are the defaults of the options with\n"
        "these names: numbers of cores and GPUs, and MB of memory and disk space. The\n"
        "worker sets the same variables for each task to what the task gets.\n"
        "\nExamples:\n"
        "  work_queue_worker login1 9123                      offer all of this machine\n"
        "  work_queue_worker --contact tasks.sh.wq/contact --single-shot\n"
        "                                                     join a run with --listen\n"
        "  work_queue_worker -M 'myproject.*' --cores 8       find the manager by name\n"
        "  work_queue_worker -M myproject --catalog login1    find it by a catalog server\n"
        "  work_queue_worker \"10.0.0.7:9123;192.168.1.7:9123\" -t 5m\n"
        "  work_queue_worker --detect                         print its offer and why\n"
        "\nExit codes: 0 dismissed or idle timeout, 64 usage, 65 bad input,\n"
        "69 no manager reached, 70 our bug, 71 no processes, open files or memory left,\n"
        "77 not allowed (another key, password or version).\n");
}

}  // namespace wq::programs::worker

#include "cli/worker_options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <sstream>

#include "app/registry.h"
#include "app/session_book.h"
#include "base/amounts.h"
#include "base/units.h"
#include "cli/binding_word.h"
#include "cli/help_text.h"
#include "core/resources.h"
#include "core/task.h"
#include "taskfile/settings.h"

namespace wq::cli {

namespace po = boost::program_options;

namespace {

constexpr std::size_t longest_regex = 1000;

auto text(const char* name) {
    return po::value<std::string>()->value_name(name);
}

po::options_description visible_options() {
    po::options_description all("", help_width, help_width / 2);
    po::options_description manager("The manager", help_width, help_width / 2);
    manager.add_options()("contact", text("FILE"), "where it is and how it is trusted, as it wrote it")(
        "manager-name,M", text("REGEX"),
        "serve the managers whose whole name matches, one after the other, those with waiting tasks first")(
        "password,P", text("FILE"), "both sides show that they know the content of FILE")(
        "ssl", "with TLS; the manager's certificate is checked only with --contact or --ssl-ca")(
        "ssl-ca", text("FILE"), "as --ssl, and the certificate is checked against the authorities in FILE")(
        "connect-timeout", text("TIME"), "leave when no manager was reached for TIME (default 15m)")(
        "idle-timeout", text("TIME"), "leave when no task came for TIME (default 15m)")(
        "timeout,t", text("TIME"), "both of these")("min-backoff,i", text("TIME"),
                                                    "wait at least TIME before calling again (default 1)")(
        "max-backoff,b", text("TIME"), "wait at most TIME before calling again (default 60)")(
        "single-shot", "leave when the first manager is done with this worker");
    po::options_description offers("What is offered", help_width, help_width / 2);
    offers.add_options()("cores", text("N|all"), "cores (default: all that this process may use)")(
        "memory", text("MB|all"), "memory (default: all)")(
        "disk", text("MB|all"), "disk, at most what is free (default: all)")("gpus", text("N|all"),
                                                                             "GPUs (default: all)")(
        "bind", text("none|core|numa"),
        "bind a task to its cores, or to those of their NUMA nodes (default: core, where the cores are ours "
        "alone)")("threads-per-core", text("N"),
                  "of each core tasks have the first N hardware threads (default: all)")(
        "wall-time", text("TIME"),
        "this worker ends in TIME: no task begins that needs longer (default: what the batch system says)")(
        "feature", po::value<std::vector<std::string>>()->value_name("NAME"),
        "it has NAME, for tasks that ask for it; may be repeated")(
        "detect", "print what would be offered and why, and end")("json", "with --detect: as JSON")(
        "draw", po::value<std::string>()->implicit_value("")->value_name("TASK"),
        "with --detect: a picture of the machine; with =\"cores=4 gpus=1\" of who sits where when it is full "
        "of "
        "such tasks");
    po::options_description work("How it works", help_width, help_width / 2);
    work.add_options()("workdir,s", text("DIR"),
                       "where its workspace is made (default: _CONDOR_SCRATCH_DIR, TMPDIR, /tmp)")(
        "os,O", text("NAME"), "what $OS in the paths of input files is here (default: as uname -s)")(
        "arch,A", text("NAME"), "what $ARCH is (default: as uname -m)")(
        "keep-cache", text("DIR"),
        "cached inputs of tasks stay in DIR, for the next worker that is given it")(
        "url-timeout", text("TIME"), "a URL that gives nothing for TIME is given up (default 60)")(
        "grace", text("TIME"), "after a signal running tasks may finish for TIME (default 10)")(
        "task-wrapper", text("CMD"), "run each task as CMD with the task's line for {} or behind it")(
        "from-factory", text("NAME"), "it was started by the factory NAME")(
        "parent-death", "leave when the process that started it ends")(
        "volatility", text("P"), "for tests: end without a word with chance P each minute")(
        "debug,d", text("SUBSYSTEM"), "write a debug log; all: of everything")(
        "debug-file,o", text("FILE"), "of --debug (default: stderr)")(
        "debug-rotate-max", text("BYTES"), "the debug log begins anew at BYTES; 0: never (default 10M)")(
        "version,v", "print the version and end")("help,h", "this text");
    all.add(manager).add(offers).add(work);
    return all;
}

// Taken so that command lines for Work Queue go on working. They change nothing, and where a user would count
// on them, that is said.
struct WithoutEffect {
    const char* name;
    const char* why;
};
constexpr WithoutEffect without_effect[] = {
    {"catalog", "managers are found by name in the folder of WORK_QUEUE_REGISTRY"},
    {"connection-mode", "all addresses of a manager are tried, and the first that answers is kept"},
    {"tcp-window-size", "the kernel tunes it"},
    {"disable-symlinks", "nothing is linked into a task's folder"},
    {"disk-allocation", "no task has a file system of its own"},
    {"tlq", "there is no log server"},
};

po::options_description hidden_options() {
    po::options_description hidden;
    hidden.add_options()("place", po::value<std::vector<std::string>>())("master-name,N", text(""))(
        "catalog,C", text(""))("tcp-window-size,w", text(""))("connection-mode", text(""))(
        "disable-symlinks", "")("disk-allocation", "")("tlq", text(""))("advertise,a", "")(
        "measure-capacity,c", "")("ignored-p,p", text(""))("disk-threshold,z", text(""))(
        "memory-threshold", text(""))("walltime", text(""))("time-scale", text(""));
    return hidden;
}

Error usage(const std::string& what) {
    return {ExitCode::usage, what + "; try --help"};
}

// What another kind of worker has.
std::optional<std::string> refused_word(std::string_view word) {
    for (const char* name : {"--coprocess", "--num_coprocesses"})
        if (word.starts_with(name))
            return std::string(word) + ": this worker runs no coprocesses; leave it out";
    for (const char* name : {"--foreman", "--specify-log", "--fast-abort", "--bandwidth", "-Z", "-F", "-f"})
        if (word == name || (name[1] == '-' && word.starts_with(name)))
            return std::string(word) + ": this worker is no foreman; let all workers name the manager";
    return std::nullopt;
}

using Given = po::variables_map;

template <class T>
struct Plain {
    using type = T;
};
template <class T>
struct Plain<std::optional<T>> {
    using type = T;
};

template <class T, class Convert>
Status take(const Given& given, const char* name, T& target, Convert convert) {
    if (given.count(name) == 0) return success();
    auto value = convert(given[name].as<std::string>());
    if (!value) return usage(std::string("--") + name + ": " + value.error().message);
    target = static_cast<typename Plain<T>::type>(*value);
    return success();
}

using Amount = std::optional<std::int64_t>;

// "all", "0" (cores and the like of nothing serve nobody) and "-1": what is there.
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

// A worker within a task has what that was given, which may be a part of a core, or none: but
// for one core it runs nothing. Of a GPU that it has a part of, others have theirs.
Result<Amount> amount_of_task(const std::string& word, std::int64_t least) {
    if (word == "all" || word == "-1") return Amount{};
    const auto count = parse_count_with_fraction(word, 0, most_cores);
    if (!count) return count.error();
    return Amount{std::max(count->rounded_down(), least)};
}

Status take_amounts(const Given& given, const std::function<const char*(const char*)>& variable,
                    WorkerProgramOptions& work) {
    struct Kind {
        const char* option;
        const char* variable;
        bool in_mb;
        Amount& target;
        host::BoundKind what;
    };
    using host::BoundKind;
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
        if (given.count(kind.option) != 0) {
            word = given[kind.option].as<std::string>();
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
        if (!value) return usage(name + ": " + value.error().message);
        kind.target = *value;
    }
    return success();
}

Status take_binding(const Given& given, WorkerProgramOptions& work) {
    const Status status = take(given, "bind", work.bind, parse_binding);
    return status ? take(given, "threads-per-core", work.threads_per_core, parse_threads) : status;
}

Status take_drawn_task(const Given& given, WorkerCommand& command) {
    const std::string text = given.count("draw") == 0 ? "" : given["draw"].as<std::string>();
    if (text.empty()) return success();
    taskfile::Settings said;
    if (const Status bad = taskfile::apply_settings(text, said); !bad)
        return usage("--draw: " + bad.error().message);
    command.drawn_task = core::Needs{said.cores.value_or(-1), said.memory_mb.value_or(-1),
                                     said.disk_mb.value_or(-1), said.gpus.value_or(-1)};
    return success();
}

// Without a manager: it is not asked.
bool takes_detect(const Given& given, WorkerCommand& command) {
    command.json = given.count("json") != 0;
    command.draw = given.count("draw") != 0;
    if (given.count("detect") != 0) command.kind = WorkerCommand::Kind::detect;
    return command.kind == WorkerCommand::Kind::detect;
}

Result<double> fraction(const std::string& word, double most) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !(value >= 0) || value > most)
        return Error{ExitCode::usage, quote_for_message(word) + " is no number from 0 to " +
                                          std::to_string(static_cast<int>(most))};
    return value;
}

Status take_times(const Given& given, WorkerProgramOptions& work) {
    std::optional<Status> bad;
    const auto check = [&](Status status) {
        if (!status && !bad) bad = std::move(status);
    };
    const auto duration = [](const std::string& word) { return parse_duration(word); };
    Duration both{0};
    Duration wall{0};
    check(take(given, "timeout", both, duration));
    if (given.count("timeout") != 0) work.idle_timeout = work.connect_timeout = both;
    check(take(given, "idle-timeout", work.idle_timeout, duration));
    check(take(given, "connect-timeout", work.connect_timeout, duration));
    check(take(given, "min-backoff", work.min_backoff, duration));
    check(take(given, "max-backoff", work.max_backoff, duration));
    check(take(given, "grace", work.grace, duration));
    check(take(given, "url-timeout", work.url_timeout, duration));
    if (work.url_timeout <= Duration{0} && !bad) bad = usage("--url-timeout 0: give at least a second");
    for (const char* const name : {"walltime", "wall-time"})  // the first as work_queue_run spells it
        check(take(given, name, wall, duration));
    check(take(given, "debug-rotate-max", work.debug_rotate,
               [](const std::string& word) { return parse_size(word, 1); }));
    check(take(given, "volatility", work.volatility,
               [](const std::string& word) { return fraction(word, 1); }));
    check(take(given, "time-scale", work.time_scale,
               [](const std::string& word) { return fraction(word, 1000); }));
    if (bad) return *bad;
    if (wall > Duration{0}) work.wall_time = wall;
    if (work.max_backoff < work.min_backoff)
        return usage("--max-backoff " + format_duration(work.max_backoff) + " is below --min-backoff " +
                     format_duration(work.min_backoff));
    return success();
}

Status take_place(const Given& given, WorkerProgramOptions& work) {
    const auto words = given.count("place") != 0 ? given["place"].as<std::vector<std::string>>()
                                                 : std::vector<std::string>{};
    const auto given_text = [&](const char* name, std::string& target) {
        if (given.count(name) != 0) target = given[name].as<std::string>();
    };
    given_text("contact", work.contact);
    given_text("master-name", work.manager_regex);
    given_text("manager-name", work.manager_regex);
    const int ways =
        (words.empty() ? 0 : 1) + (work.contact.empty() ? 0 : 1) + (work.manager_regex.empty() ? 0 : 1);
    if (ways != 1)
        return usage(ways == 0 ? "say which manager: HOST PORT, --contact FILE or -M NAME"
                               : "say which manager in one way: HOST PORT, --contact FILE or -M NAME");
    if (!work.manager_regex.empty()) {
        if (work.manager_regex.size() > longest_regex) return usage("-M: the expression is too long");
        if (const Status bad = app::check_manager_pattern(work.manager_regex); !bad)
            return usage("-M: " + bad.error().message);
    }
    if (words.empty()) return success();
    if (words.size() > 2)
        return usage("one manager at a time: HOST PORT, not also " + quote_for_message(words[2]));
    std::uint16_t port = 0;
    if (words.size() == 2) {
        const auto number = parse_count(words[1], 1, 65535);
        if (!number) return usage("PORT: " + number.error().message);
        port = static_cast<std::uint16_t>(*number);
    }
    auto addresses = transport::parse_addresses(words[0], port);
    if (!addresses) return usage(addresses.error().message);
    work.managers = std::move(*addresses);
    return success();
}

}  // namespace

Result<WorkerCommand> parse_worker_command_line(int argc, const char* const* argv,
                                                const std::function<const char*(const char*)>& variable) {
    for (int i = 1; i < argc; ++i)
        if (const auto why = refused_word(argv[i])) return usage(*why);
    po::options_description all = visible_options();
    all.add(hidden_options());
    po::positional_options_description positional;
    positional.add("place", -1);
    Given given;
    try {
        const auto style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
        po::store(po::command_line_parser(argc, argv).options(all).positional(positional).style(style).run(),
                  given);
        po::notify(given);
    } catch (const po::error& wrong) {
        return usage(wrong.what());
    }
    WorkerCommand command;
    if (given.count("help") != 0) command.kind = WorkerCommand::Kind::help;
    if (given.count("version") != 0) command.kind = WorkerCommand::Kind::version;
    if (command.kind != WorkerCommand::Kind::work) return command;
    WorkerProgramOptions& work = command.work;
    const bool detects = takes_detect(given, command);
    if (!detects && (command.json || command.draw))
        return usage(std::string(command.json ? "--json" : "--draw") + " belongs to --detect");
    if (command.json && command.draw) return usage("--json and --draw: give one of them");
    if (const Status bad = take_drawn_task(given, command); !bad) return bad.error();
    for (const Status& status : {detects ? success() : take_place(given, work), take_times(given, work),
                                 take_amounts(given, variable, work), take_binding(given, work)})
        if (!status) return status.error();
    const auto given_text = [&](const char* name, std::string& target) {
        if (given.count(name) != 0) target = given[name].as<std::string>();
    };
    given_text("password", work.password_file);
    given_text("ssl-ca", work.ssl_ca);
    given_text("workdir", work.workdir);
    given_text("task-wrapper", work.task_wrapper);
    given_text("keep-cache", work.kept_cache);
    given_text("os", work.os);
    given_text("arch", work.arch);
    for (const std::string& name : {work.os, work.arch})
        if (!app::is_platform(name))
            return usage("--os and --arch " + quote_for_message(name) +
                         ": a name has letters, digits, '_', '-' and '.', and does not begin with '.'");
    given_text("from-factory", work.factory);
    given_text("debug", work.debug);
    given_text("debug-file", work.debug_file);
    if (given.count("feature") != 0) work.features = given["feature"].as<std::vector<std::string>>();
    for (const std::string& feature : work.features)
        if (feature.starts_with(core::function_feature))
            return usage("--feature " + quote_for_message(feature) +
                         ": only a program's own worker has functions, and it says so itself");
    work.ssl = given.count("ssl") != 0 || !work.ssl_ca.empty();
    work.single_shot = given.count("single-shot") != 0;
    work.parent_death = given.count("parent-death") != 0;
    for (const WithoutEffect& option : without_effect)
        if (given.count(option.name) != 0)
            work.remarks.push_back(std::string("--") + option.name + " has no effect: " + option.why);
    if (given.count("connection-mode") != 0) {
        const std::string& mode = given["connection-mode"].as<std::string>();
        if (mode != "by_ip" && mode != "by_hostname" && mode != "by_apparent_ip")
            return usage("--connection-mode: " + quote_for_message(mode) +
                         " is none of by_ip, by_hostname, by_apparent_ip");
    }
    return command;
}

std::string worker_help_text() {
    std::ostringstream text;
    text << "Usage: work_queue_worker [OPTIONS] HOST PORT\n"
            "       work_queue_worker [OPTIONS] \"HOST:PORT;HOST:PORT\"\n"
            "       work_queue_worker [OPTIONS] --contact FILE\n"
            "       work_queue_worker [OPTIONS] -M REGEX\n"
            "       work_queue_worker [OPTIONS] --detect [--json | --draw[=TASK]]\n"
            "\n"
            "Runs tasks of a manager on this machine, and comes back to it when the\n"
            "connection was lost. On SIGTERM, SIGINT, SIGHUP, SIGUSR1 or SIGUSR2 it hands\n"
            "back what has not started and lets running tasks finish for a while. Nothing\n"
            "that it or its tasks started or wrote outlives it.\n"
         << visible_options()
         << "\nExamples:\n"
            "  work_queue_worker login1 9123                      all of this machine\n"
            "  work_queue_worker --contact tasks.sh.wq/contact --single-shot\n"
            "                                                     of work_queue_run --listen\n"
            "  work_queue_worker -M 'myproject.*' --cores 8       by the manager's name\n"
            "  work_queue_worker \"10.0.0.7:9123;192.168.1.7:9123\" -t 5m\n"
            "  work_queue_worker --detect                         what it offers, and why\n"
            "\nExit codes: 0 told to leave, or no task came, 64 usage, 65 bad input,\n"
            "69 no manager could be reached, 70 our bug,\n"
            "77 not allowed (another key, password or version).\n";
    return without_trailing_blanks(text.str());
}

}  // namespace wq::cli

#include "programs/factory/factory_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/units.h"
#include "net/catalog/catalog_client.h"
#include "net/contact/registry.h"
#include "programs/command_line.h"

namespace wq::programs::factory {

namespace {

// NOLINTNEXTLINE(readability-function-size): a table
OptionTable options_of(FactoryCommand& command) {
    return {
        {group, "The managers"},
        {"contact", "FILE", "contact file of the manager", &command.place.contact},
        {"manager-name,M", "REGEX",
         "serve all managers whose whole name matches REGEX (default: $WORK_QUEUE_NAME, if you give no "
         "manager)"},
        {"catalog", "HOSTS",
         "with -M: look up names also on these catalog servers: HOST[:PORT],... (default: $CATALOG_HOST)",
         &command.settings.catalog},
        {"password,P", "FILE",
         "password file; factory, workers and manager prove to each other that they know its content",
         &command.place.password_file},
        {"ssl", "", "use TLS; the manager's certificate is checked only with --contact or --ssl-ca",
         &command.place.ssl},
        {"ssl-ca", "FILE", "use TLS, and check the manager's certificate against the authorities in FILE",
         &command.place.ssl_ca},
        {group, "How many workers"},
        {"min-workers,w", "N", "keep at least N workers (default: 5)"},
        {"max-workers,W", "N", "keep at most N workers (default: 100)"},
        {"workers-per-cycle", "N", "at most N workers submitted but not connected (default: 5; 0: no limit)"},
        {"tasks-per-worker", "N",
         "tasks that a worker runs at once (default: as many as fit; 1 if the worker's size is unknown)"},
        {"capacity,c", "", "submit no more workers than the managers can keep busy",
         &command.settings.capacity},
        {"timeout,t", "TIME", "let idle workers leave after TIME (default: 5m)"},
        {"factory-timeout", "TIME", "end if no manager has a task for TIME (default: never)"},
        {group, "The workers"},
        {"cores", "N",
         "cores of each worker (default: the batch system's default, see SYSTEM_submit_workers)"},
        {"memory", "MB", "memory of each worker in MB, or a size such as 4G"},
        {"disk", "MB", "disk space of each worker in MB, or a size such as 20G"},
        {"gpus", "N", "GPUs of each worker"},
        {"autosize", "", "HTCondor: let each worker take its whole slot", &command.settings.autosize},
        {"wall-time", "TIME", "time limit of each worker"},
        {"feature", "NAME", "offer NAME to tasks that require it; may be repeated", &command.features},
        {"env", "NAME=VALUE", "set variable NAME of the workers to VALUE; may be repeated", Values::repeated},
        {"worker-start-cmd", "TEXT", "shell lines to run before the worker, e.g. 'module load x'"},
        {"wrapper", "TEXT", "run the worker as TEXT work_queue_worker ..."},
        {"task-wrapper", "CMD", "run each task as CMD; the task's line replaces {} or is appended"},
        {"extra-options,E", "TEXT", "more options of work_queue_worker; a shell splits TEXT into words",
         &command.settings.worker_extra_options},
        {"worker-binary", "FILE", "work_queue_worker to use"},
        {group, "The batch system"},
        {"batch-type,T", "SYSTEM",
         "slurm, condor, pbs, torque, uge, lsf, local (processes on this machine), dryrun (submits nothing), "
         "or the path of a driver",
         &command.batch_type},
        {"batch-options,B", "WORDS",
         "more arguments of the system's command; a shell splits WORDS into words"},
        {"condor-requirements", "EXPR", "HTCondor: requirements on the machines",
         &command.settings.condor_requirements},
        {"scratch-dir,S", "DIR",
         "folder for scripts, logs and the list of jobs; the nodes must see it (default: ./wq-factory-UID)",
         &command.scratch},
        {"status-interval", "TIME",
         "ask the batch system for the factory's jobs at most every TIME (default: 1m; local: each cycle)"},
        {group, "Operation"},
        {"config-file,C", "FILE",
         "JSON file with values of these options, such as {\"max-workers\": 50}, which override the command "
         "line; the man page lists the keys. The factory reads FILE again when FILE changes",
         &command.config_file},
        {"factory-name", "NAME",
         "name of the factory; its workers have the feature factory:NAME (default: generated)",
         &command.settings.factory_name},
        {"cycle", "TIME", "look at the managers every TIME (default: 30)"},
        {"dry-run", "", "print what would be submitted for one worker, and exit", &command.dry_run},
        {"json", "", "print a JSON object per cycle instead of a line", &command.json},
        {"parent-death", "", "end when the parent process ends", &command.parent_death},
        {"version,v", "", "print the version and exit"},
        {"help,h", "", "print this help and exit"},
        // Of CCTools, and without effect here.
        {"master-name,N", "X"},
        {"project-name", "X"},
        {"run-factory-as-manager", ""},
        {"debug,d", "X"},
        {"debug-file,o", "X"},
        {"debug-file-size,O", "X"},
        {"disable-afs-check", ""},
        // Of CCTools, and of batch systems that are not here: ignored, as CCTools ignores those of another
        // than -T's.
        {"amazon-config", "X"},
        {"k8s-image", "X"},
        {"k8s-worker-image", "X"},
        {"mesos-master", "X"},
        {"mesos-path", "X"},
        {"mesos-preload", "X"},
        // Of CCTools, and refused by name.
        {"foremen-name,F", "X"},
        {"poncho-env", "X"},
        {"python-env", "X"},
        {"python-package", "X"},
        {"runos", "X"},
        {"wrapper-input", "X"},
        // For programs that start a factory.
        {"ends-with-reader", "", "", &command.ends_with_reader},
    };
}

std::string absolute(const std::string& path) {
    std::error_code unknown;
    const auto whole = std::filesystem::absolute(path, unknown);
    return unknown ? path : whole.string();
}

Status take_place(const Given& given, FactoryCommand& command) {
    wq::factory::ManagerPlace& place = command.place;
    const auto words = given.texts("place");
    std::string& name = command.settings.manager_name;
    for (const char* option : {"master-name", "project-name", "manager-name"})
        if (given.has(option)) name = given.text(option);
    const char* const by_default = std::getenv("WORK_QUEUE_NAME");
    if (words.empty() && place.contact.empty() && name.empty() && command.config_file.empty() &&
        by_default != nullptr)
        name = by_default;
    if (const auto hosts = net::catalog::named_catalog_hosts(command.settings.catalog); !hosts)
        return usage_error(hosts.error().message);
    const int ways = (words.empty() ? 0 : 1) + (place.contact.empty() ? 0 : 1) +
                     (command.settings.manager_name.empty() ? 0 : 1);
    if (ways > 1 || (ways == 0 && command.config_file.empty()))
        return usage_error("name the managers in one way: HOST PORT, --contact FILE or -M REGEX");
    if (const auto status = net::contact::check_manager_pattern(command.settings.manager_name); !status)
        return usage_error("-M: " + status.error().message);
    if (!place.contact.empty()) place.contact = absolute(place.contact);
    if (!place.ssl_ca.empty()) place.ssl = true;
    if (words.empty()) return success();
    if (words.size() != 2) return usage_error("give HOST and PORT of the manager");
    const auto port = parse_count(words[1], 1, 65535);
    if (!port) return usage_error("PORT: " + port.error().message);
    auto addresses = net::frames::parse_addresses(words[0], static_cast<std::uint16_t>(*port));
    if (!addresses) return usage_error(addresses.error().message);
    place.managers = std::move(*addresses);
    return success();
}

Status take_settings(const Given& given, FactoryCommand& command) {
    wq::factory::PoolSettings& settings = command.settings;
    OptionTaker take(given);
    constexpr std::int64_t most = 1'000'000;
    const auto count = between(0, most);
    const auto cores = between(0, most_cores);
    take("min-workers", settings.min_workers, count);
    take("max-workers", settings.max_workers, count);
    take("workers-per-cycle", settings.workers_per_cycle, count);
    take("tasks-per-worker", settings.tasks_per_worker, between(1, most));
    take("timeout", settings.timeout, parse_duration);
    take("factory-timeout", settings.factory_timeout, parse_duration);
    take("cores", settings.size.cores, cores);
    take("gpus", settings.size.gpus, cores);
    take("memory", settings.size.memory_mb, parse_amount_mb);
    take("disk", settings.size.disk_mb, parse_amount_mb);
    take("cycle", command.cycle, parse_duration);
    if (command.batch_type == "local") command.status_interval = {};
    take("status-interval", command.status_interval, parse_duration);
    if (!take.status()) return take.status();
    // A maximum below the default minimum is enough said.
    if (!given.has("min-workers"))
        settings.min_workers = std::min(settings.min_workers, settings.max_workers);
    if (settings.min_workers > settings.max_workers)
        return usage_error("--min-workers " + std::to_string(settings.min_workers) +
                           " is above --max-workers " + std::to_string(settings.max_workers));
    return success();
}

// What the submit command gets as it is.
Status pass_on(const Given& given, FactoryCommand& command) {
    std::vector<std::string>& words = command.submit_options;
    const auto add = [&](const char* option, const std::string& value) {
        words.emplace_back(option);
        words.push_back(value);
    };
    for (const char* name : {"password", "ssl-ca", "worker-binary"})
        if (given.has(name)) add((std::string("--") + name).c_str(), absolute(given.text(name)));
    for (const char* name : {"wall-time", "wrapper", "task-wrapper"})
        if (given.has(name)) add((std::string("--") + name).c_str(), given.text(name));
    if (command.place.ssl && command.place.ssl_ca.empty()) words.emplace_back("--ssl");
    for (const std::string& feature : command.features) add("--feature", feature);
    std::string start;
    for (const std::string& variable : given.texts("env")) {
        const auto equals = variable.find('=');
        const std::string name = variable.substr(0, equals);
        constexpr std::string_view letters =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
        if (equals == std::string::npos || name.empty() || (name[0] >= '0' && name[0] <= '9') ||
            name.find_first_not_of(letters) != name.npos)
            return usage_error("--env " + quote_for_message(variable) + ": not NAME=VALUE");
        std::string quoted = variable.substr(0, equals + 1) + "'";
        for (const char letter : variable.substr(equals + 1))
            quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
        start += "export " + quoted + "'\n";
    }
    start += given.text("worker-start-cmd");
    if (!start.empty()) add("--worker-start-cmd", start);
    if (const std::string batch = given.text("batch-options"); !batch.empty()) add("--batch-options", batch);
    if (!command.place.contact.empty()) command.place_words = {"--contact", command.place.contact};
    for (const std::string& word : given.texts("place")) command.place_words.push_back(word);
    return success();
}

}  // namespace

Result<FactoryCommand> parse_factory_command_line(int argc, const char* const* argv) {
    // What follows -- goes to the batch system.
    const auto* const end = std::find(argv, argv + argc, std::string_view("--"));
    FactoryCommand command;
    const auto read = read_options(words_of(static_cast<int>(end - argv), argv), options_of(command));
    if (!read) return read.error();
    const Given& given = *read;
    if (end != argv + argc) command.batch_words.assign(end + 1, argv + argc);
    if (given.has("help")) command.kind = FactoryCommand::Kind::help;
    if (given.has("version")) command.kind = FactoryCommand::Kind::version;
    if (command.kind != FactoryCommand::Kind::run) return command;
    if (command.batch_type.empty()) return usage_error("name the batch system: -T slurm, for example");
    if (!given.has("scratch-dir")) command.scratch = "wq-factory-" + std::to_string(::getuid());
    command.scratch = absolute(command.scratch);
    for (const Status& status :
         {take_place(given, command), take_settings(given, command), pass_on(given, command)})
        if (!status) return status.error();
    for (const auto& [name, value] : given.values)
        if (const std::string_view why = wq::factory::why_refused(name); !why.empty())
            return usage_error("--" + name + ": " + std::string(why));
    for (const auto& [name, why] :
         {std::pair{"debug", "the factory always prints what it does"},
          {"debug-file", "the factory always prints what it does"},
          {"run-factory-as-manager", "only a catalog would show the factory as a manager"}})
        if (given.has(name)) command.remarks.push_back(std::string("--") + name + " has no effect: " + why);
    return command;
}

std::string factory_help() {
    FactoryCommand none;
    return help_with(
        "Usage: work_queue_factory -T SYSTEM [OPTIONS] HOST PORT [-- WORD...]\n"
        "       work_queue_factory -T SYSTEM [OPTIONS] --contact FILE [-- WORD...]\n"
        "       work_queue_factory -T SYSTEM [OPTIONS] -M REGEX [-- WORD...]\n"
        "\n"
        "Keeps as many workers in a batch system as the managers have work for. The\n"
        "factory submits workers when tasks wait, and removes pending workers when there\n"
        "is less work. Running workers leave by themselves when they are idle. When the\n"
        "factory ends (by a signal, for example), it removes all workers that it\n"
        "submitted. If the factory is killed, start it again in the same folder: it knows\n"
        "its jobs. The factory passes the WORDs to the batch system\'s command.\n",
        options_of(none),
        "\nThe factory prints a line per cycle about what it sees and does; problems go to\nstderr.\n"
        "\nExamples:\n"
        "  work_queue_factory -T slurm --contact tasks.sh.wq/contact --cores 4 -W 20\n"
        "                                        up to 20 workers of 4 cores\n"
        "  work_queue_factory -T condor -M 'myproject.*' -w 2 -W 10\n"
        "  work_queue_factory -T slurm -M myproject --catalog login1 --password FILE\n"
        "  work_queue_factory -T uge -C factory.json\n"
        "  work_queue_factory -T local -w 0 -W 2 --cores 1 localhost 9123\n"
        "  work_queue_factory -T ./our_system --contact c --dry-run\n"
        "                                        your own batch system, by its driver\n"
        "\nExit codes: 0 ended by a signal or --factory-timeout, 64 usage, 65 bad input,\n"
        "69 the jobs could not be removed, 71 no processes, open files or memory left,\n"
        "or stdout cannot be written, 77 not allowed.\n");
}

}  // namespace wq::programs::factory

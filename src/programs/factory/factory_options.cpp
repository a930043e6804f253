#include "programs/factory/factory_options.h"

#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/amounts.h"
#include "base/units.h"
#include "net/catalog/catalog_hosts.h"
#include "net/contact/registry.h"
#include "programs/command_line.h"
#include "programs/option_values.h"

namespace wq::programs::factory {

namespace {

namespace po = boost::program_options;

auto text(const char* name) {
    return po::value<std::string>()->value_name(name);
}
auto texts(const char* name) {
    return po::value<std::vector<std::string>>()->value_name(name);
}

po::options_description visible_options() {
    po::options_description all("", help_width, help_width / 2);
    po::options_description managers("The managers", help_width, help_width / 2);
    managers.add_options()("contact", text("FILE"), "contact file of the manager")(
        "manager-name,M", text("REGEX"),
        "serve all managers whose whole name matches REGEX (default: $WORK_QUEUE_NAME, if you give no "
        "manager)")(
        "catalog", text("HOSTS"),
        "with -M: look up names also on these catalog servers: HOST[:PORT],... (default: $CATALOG_HOST)")(
        "password,P", text("FILE"),
        "password file; factory, workers and manager prove to each other that they know its content")(
        "ssl", "use TLS; the manager's certificate is checked only with --contact or --ssl-ca")(
        "ssl-ca", text("FILE"),
        "use TLS, and check the manager's certificate against the authorities in FILE");
    po::options_description number("How many workers", help_width, help_width / 2);
    number.add_options()("min-workers,w", text("N"), "keep at least N workers (default: 5)")(
        "max-workers,W", text("N"), "keep at most N workers (default: 100)")(
        "workers-per-cycle", text("N"),
        "at most N workers submitted but not connected (default: 5; 0: no limit)")(
        "tasks-per-worker", text("N"),
        "tasks that a worker runs at once (default: as many as fit; 1 if the worker's size is unknown)")(
        "capacity,c", "submit no more workers than the managers can keep busy")(
        "timeout,t", text("TIME"), "let idle workers leave after TIME (default: 5m)")(
        "factory-timeout", text("TIME"), "end if no manager has a task for TIME (default: never)");
    po::options_description workers("The workers", help_width, help_width / 2);
    workers.add_options()(
        "cores", text("N"),
        "cores of each worker (default: the batch system's default, see SYSTEM_submit_workers)")(
        "memory", text("MB"), "memory of each worker in MB, or a size such as 4G")(
        "disk", text("MB"), "disk space of each worker in MB, or a size such as 20G")("gpus", text("N"),
                                                                                      "GPUs of each worker")(
        "autosize", "HTCondor: let each worker take its whole slot")("wall-time", text("TIME"),
                                                                     "time limit of each worker")(
        "feature", texts("NAME"), "offer NAME to tasks that require it; may be repeated")(
        "env", texts("NAME=VALUE"), "set variable NAME of the workers to VALUE; may be repeated")(
        "worker-start-cmd", text("TEXT"), "shell lines to run before the worker, e.g. 'module load x'")(
        "wrapper", text("TEXT"), "run the worker as TEXT work_queue_worker ...")(
        "task-wrapper", text("CMD"), "run each task as CMD; the task's line replaces {} or is appended")(
        "extra-options,E", text("TEXT"), "more options of work_queue_worker; a shell splits TEXT into words")(
        "worker-binary", text("FILE"), "work_queue_worker to use");
    po::options_description system("The batch system", help_width, help_width / 2);
    system.add_options()(
        "batch-type,T", text("SYSTEM"),
        "slurm, condor, pbs, torque, uge, lsf, local (processes on this machine), dryrun (submits nothing), "
        "or the path of a driver")("batch-options,B", text("WORDS"),
                                   "more arguments of the system's command; a shell splits WORDS into words")(
        "condor-requirements", text("EXPR"), "HTCondor: requirements on the machines")(
        "scratch-dir,S", text("DIR"),
        "folder for scripts, logs and the list of jobs; the nodes must see it (default: ./wq-factory-UID)")(
        "status-interval", text("TIME"),
        "ask the batch system for the factory's jobs at most every TIME (default: 1m; local: each cycle)");
    po::options_description work("Operation", help_width, help_width / 2);
    work.add_options()(
        "config-file,C", text("FILE"),
        "JSON file with these options, which override the command line; the factory reads FILE "
        "again when it changes")(
        "factory-name", text("NAME"),
        "name of the factory; its workers have the feature factory:NAME (default: generated)")(
        "cycle", text("TIME"), "look at the managers every TIME (default: 30)")(
        "dry-run", "print what would be submitted for one worker, and exit")(
        "json", "print a JSON object per cycle instead of a line")(
        "parent-death", "end when the parent process ends")("version,v", "print the version and exit")(
        "help,h", "print this help and exit");
    all.add(managers).add(number).add(workers).add(system).add(work);
    return all;
}

// Options of CCTools' factory: of batch systems that are not here, ignored as it ignores those of another
// than -T's; and those that are refused by name.
constexpr const char* of_other_systems[] = {"amazon-config", "k8s-image",  "k8s-worker-image",
                                            "mesos-master",  "mesos-path", "mesos-preload"};
constexpr const char* refused[] = {"foremen-name,F", "poncho-env", "python-env",
                                   "python-package", "runos",      "wrapper-input"};

po::options_description hidden_options() {
    po::options_description hidden;
    hidden.add_options()("master-name,N", text(""))("project-name", text(""))("run-factory-as-manager", "")(
        "debug,d", text(""))("debug-file,o", text(""))("debug-file-size,O", text(""))(
        "disable-afs-check", "")("ends-with-reader", "");
    for (const char* name : of_other_systems) hidden.add_options()(name, text(""));
    for (const char* name : refused) hidden.add_options()(name, text(""));
    return hidden;
}

using Given = po::variables_map;

std::string given_text(const Given& given, const char* name) {
    return given.count(name) != 0 ? given[name].as<std::string>() : std::string();
}
std::vector<std::string> given_texts(const Given& given, const char* name) {
    return given.count(name) != 0 ? given[name].as<std::vector<std::string>>() : std::vector<std::string>();
}

std::string absolute(const std::string& path) {
    std::error_code unknown;
    const auto whole = std::filesystem::absolute(path, unknown);
    return unknown ? path : whole.string();
}

Status take_place(const Given& given, FactoryCommand& command) {
    wq::factory::ManagerPlace& place = command.place;
    const auto words = given_texts(given, "place");
    place.contact = given_text(given, "contact");
    std::string& name = command.settings.manager_name;
    for (const char* option : {"master-name", "project-name", "manager-name"})
        if (given.count(option) != 0) name = given_text(given, option);
    const char* const by_default = std::getenv("WORK_QUEUE_NAME");
    if (words.empty() && place.contact.empty() && name.empty() && command.config_file.empty() &&
        by_default != nullptr)
        name = by_default;
    command.settings.catalog = given_text(given, "catalog");
    if (const auto hosts = net::catalog::named_catalog_hosts(command.settings.catalog); !hosts)
        return usage_error(hosts.error().message);
    const int ways = (words.empty() ? 0 : 1) + (place.contact.empty() ? 0 : 1) +
                     (command.settings.manager_name.empty() ? 0 : 1);
    if (ways > 1 || (ways == 0 && command.config_file.empty()))
        return usage_error("name the managers in one way: HOST PORT, --contact FILE or -M REGEX");
    if (const auto status = net::contact::check_manager_pattern(command.settings.manager_name); !status)
        return usage_error("-M: " + status.error().message);
    if (!place.contact.empty()) place.contact = absolute(place.contact);
    place.password_file = given_text(given, "password");
    place.ssl_ca = given_text(given, "ssl-ca");
    place.ssl = given.count("ssl") != 0 || !place.ssl_ca.empty();
    if (words.empty()) return success();
    if (words.size() != 2) return usage_error("a manager is HOST PORT");
    const auto port = parse_count(words[1], 1, 65535);
    if (!port) return usage_error("PORT: " + port.error().message);
    auto addresses = net::frames::parse_addresses(words[0], static_cast<std::uint16_t>(*port));
    if (!addresses) return usage_error(addresses.error().message);
    place.managers = std::move(*addresses);
    return success();
}

Status take_settings(const Given& given, FactoryCommand& command) {
    wq::factory::Settings& settings = command.settings;
    std::optional<Status> bad;
    const auto check = [&](Status status) {
        if (!status && !bad) bad = std::move(status);
    };
    constexpr std::int64_t most = 1'000'000;
    const auto count = between(0, most);
    const auto cores = between(0, most_cores);
    const auto size = [](const std::string& word) { return parse_amount_mb(word); };
    const auto time = [](const std::string& word) { return parse_duration(word); };
    check(take(given, "min-workers", settings.min_workers, count));
    check(take(given, "max-workers", settings.max_workers, count));
    check(take(given, "workers-per-cycle", settings.workers_per_cycle, count));
    check(take(given, "tasks-per-worker", settings.tasks_per_worker, between(1, most)));
    check(take(given, "timeout", settings.timeout, time));
    check(take(given, "factory-timeout", settings.factory_timeout, time));
    check(take(given, "cores", settings.size.cores, cores));
    check(take(given, "gpus", settings.size.gpus, cores));
    check(take(given, "memory", settings.size.memory_mb, size));
    check(take(given, "disk", settings.size.disk_mb, size));
    check(take(given, "cycle", command.cycle, time));
    if (given_text(given, "batch-type") == "local") command.status_interval = {};
    check(take(given, "status-interval", command.status_interval, time));
    if (bad) return *bad;
    // A maximum below the default minimum is enough said.
    if (given.count("min-workers") == 0)
        settings.min_workers = std::min(settings.min_workers, settings.max_workers);
    if (settings.min_workers > settings.max_workers)
        return usage_error("--min-workers " + std::to_string(settings.min_workers) +
                           " is above --max-workers " + std::to_string(settings.max_workers));
    settings.capacity = given.count("capacity") != 0;
    settings.autosize = given.count("autosize") != 0;
    settings.factory_name = given_text(given, "factory-name");
    settings.worker_extra_options = given_text(given, "extra-options");
    settings.condor_requirements = given_text(given, "condor-requirements");
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
        if (given.count(name) != 0)
            add((std::string("--") + name).c_str(), absolute(given_text(given, name)));
    for (const char* name : {"wall-time", "wrapper", "task-wrapper"})
        if (given.count(name) != 0) add((std::string("--") + name).c_str(), given_text(given, name));
    if (command.place.ssl && command.place.ssl_ca.empty()) words.emplace_back("--ssl");
    command.features = given_texts(given, "feature");
    for (const std::string& feature : command.features) add("--feature", feature);
    std::string start;
    for (const std::string& variable : given_texts(given, "env")) {
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
    start += given_text(given, "worker-start-cmd");
    if (!start.empty()) add("--worker-start-cmd", start);
    if (const std::string batch = given_text(given, "batch-options"); !batch.empty())
        add("--batch-options", batch);
    if (!command.place.contact.empty()) command.place_words = {"--contact", command.place.contact};
    for (const std::string& word : given_texts(given, "place")) command.place_words.push_back(word);
    return success();
}

}  // namespace

Result<FactoryCommand> parse_factory_command_line(int argc, const char* const* argv) {
    // What follows -- goes to the batch system.
    const auto* const end = std::find(argv, argv + argc, std::string_view("--"));
    const auto split = split_words(words_of(static_cast<int>(end - argv), argv), visible_options(), "place",
                                   hidden_options());
    if (!split) return split.error();
    const Given& given = *split;
    FactoryCommand command;
    if (end != argv + argc) command.batch_words.assign(end + 1, argv + argc);
    if (given.count("help") != 0) command.kind = FactoryCommand::Kind::help;
    if (given.count("version") != 0) command.kind = FactoryCommand::Kind::version;
    if (command.kind != FactoryCommand::Kind::run) return command;
    command.batch_type = given_text(given, "batch-type");
    if (command.batch_type.empty()) return usage_error("name the batch system: -T slurm, for example");
    command.config_file = given_text(given, "config-file");
    command.scratch = given.count("scratch-dir") != 0 ? given_text(given, "scratch-dir")
                                                      : "wq-factory-" + std::to_string(::getuid());
    command.scratch = absolute(command.scratch);
    command.parent_death = given.count("parent-death") != 0;
    command.ends_with_reader = given.count("ends-with-reader") != 0;
    command.dry_run = given.count("dry-run") != 0;
    command.json = given.count("json") != 0;
    for (const Status& status :
         {take_place(given, command), take_settings(given, command), pass_on(given, command)})
        if (!status) return status.error();
    for (const auto& [name, value] : given)
        if (const std::string_view why = wq::factory::why_refused(name); !why.empty())
            return usage_error("--" + name + ": " + std::string(why));
    for (const auto& [name, why] : {std::pair{"debug", "its lines say what it does"},
                                    {"debug-file", "its lines say what it does"},
                                    {"run-factory-as-manager", "only a catalog would show it"}})
        if (given.count(name) != 0)
            command.remarks.push_back(std::string("--") + name + " has no effect: " + why);
    return command;
}

std::string factory_help() {
    std::ostringstream out;
    out << "Usage: work_queue_factory -T SYSTEM [OPTIONS] HOST PORT [-- WORD...]\n"
           "       work_queue_factory -T SYSTEM [OPTIONS] --contact FILE [-- WORD...]\n"
           "       work_queue_factory -T SYSTEM [OPTIONS] -M REGEX [-- WORD...]\n"
           "\n"
           "Keeps as many workers in a batch system as the managers have work for. The\n"
           "factory submits workers when tasks wait, and removes pending workers when there\n"
           "is less work. Running workers leave by themselves when they are idle. When the\n"
           "factory ends (by a signal, for example), it removes all workers that it\n"
           "submitted. If the factory is killed, start it again in the same folder: it knows\n"
           "its jobs. The factory passes the WORDs to the batch system\'s command.\n"
        << visible_options()
        << "\nThe factory prints a line per cycle about what it sees and does; problems go to\nstderr.\n"
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
           "or stdout cannot be written, 77 not allowed.\n";
    return without_trailing_blanks(out.str());
}

}  // namespace wq::programs::factory

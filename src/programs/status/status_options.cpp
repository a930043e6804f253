#include "programs/status/status_options.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/units.h"
#include "net/contact/registry.h"
#include "programs/command_line.h"

namespace wq::programs::status {

namespace {

constexpr std::uint16_t default_status_port = 9123;

OptionTable options_of(StatusOptions& options) {
    return {
        {group, "What to show (one of these)"},
        {"statistics,Q", "", "tasks and workers of each manager (default)"},
        {"tasks,T", "", "tasks of a manager that have not ended"},
        {"workers,W", "", "workers of a manager"},
        {"able-workers,A", "",
         "categories of a manager, with their tasks and the workers that are large enough"},
        {"resources,R", "", "cores, memory and disk of each manager's workers"},
        {"capacity", "", "tasks and resources that each manager could keep busy"},
        {"factories", "", "workers that each factory wants, and has submitted and connected"},
        {group, "The managers"},
        {"project-name,M", "REGEX", "managers whose whole name matches REGEX", &options.name},
        {"catalog,C", "HOSTS",
         "also managers and factories that these catalog servers know: HOST[:PORT],... (default: "
         "$CATALOG_HOST)"},
        {"where", "EXPR", "only records for which EXPR is true, e.g. 'tasks_waiting>100'"},
        {"contact", "FILE", "contact file of the manager", &options.place.contact},
        {"password,P", "FILE", "password file; both sides prove that they know its content",
         &options.place.password_file},
        {"ssl", "", "use TLS; the manager's certificate is checked only with --contact or --ssl-ca",
         &options.place.ssl},
        {"ssl-ca", "FILE", "use TLS, and check the manager's certificate against the authorities in FILE",
         &options.place.ssl_ca},
        {"timeout,t", "TIME", "wait at most TIME for an answer (default: 30)"},
        {group, "Output"},
        {"json", "", "print whole records, as a JSON array with one record on each line", &options.json},
        {"verbose,l", "", "same as --json", &options.json},
        {"every", "TIME", "print again every TIME"},
        {"watch", "", "show RUN on a full screen, live or ended; without a terminal, print it once",
         &options.watch},
        {"version,v", "", "print the version and exit", &options.version},
        {"help,h", "", "print this help and exit", &options.help},
    };
}

using StatusMode = StatusOptions::Mode;

constexpr std::pair<const char*, StatusMode> status_modes[] = {
    {"statistics", StatusMode::queues},   {"tasks", StatusMode::tasks},
    {"workers", StatusMode::workers},     {"able-workers", StatusMode::categories},
    {"resources", StatusMode::resources}, {"capacity", StatusMode::capacity},
    {"factories", StatusMode::factories}};

Status take_status_mode(const Given& given, StatusOptions& options) {
    for (const auto& [name, mode] : status_modes) {
        if (!given.has(name)) continue;
        if (options.has_mode)
            return usage_error("give one of -Q, -T, -W, -A, -R, --capacity and --factories");
        options.mode = mode;
        options.has_mode = true;
    }
    return success();
}

Status take_status_address(const std::vector<std::string>& words, StatusOptions& options) {
    std::uint16_t port = default_status_port;
    if (words.size() > 1) {
        const auto number = parse_count(words[1], 1, 65535);
        if (!number) return usage_error("PORT: " + number.error().message);
        port = static_cast<std::uint16_t>(*number);
    }
    auto addresses = net::frames::parse_addresses(words[0], port);
    if (!addresses) return usage_error(addresses.error().message);
    if (words.size() == 1 && words[0].find_first_of(":;,") == std::string::npos)
        options.perhaps_name = words[0];
    options.place.managers = std::move(*addresses);
    return success();
}

// Only servers that the user named are asked.
Status take_status_catalogs(const Given& given, StatusOptions& options) {
    if (given.has("where")) {
        auto where = net::catalog::JxExpression::parse(given.text("where"));
        if (!where) return usage_error("--where: " + where.error().message);
        options.where = std::move(*where);
    }
    const bool factories = options.mode == StatusMode::factories;
    if (!options.by_name() || !options.run.empty())
        return factories || given.has("catalog")
                   ? usage_error("--catalog and --factories go without HOST PORT, RUN and --contact")
                   : success();
    auto hosts = net::catalog::named_catalog_hosts(given.text("catalog"));
    if (!hosts) return usage_error(hosts.error().message);
    options.place.catalogs = std::move(*hosts);
    return success();
}

// A word that is a file here, or looks like one, is no host.
Status take_status_place(const Given& given, StatusOptions& options) {
    const auto words = given.texts("place");
    if (!options.place.ssl_ca.empty()) options.place.ssl = true;
    const bool by_name = given.has("project-name");
    const int ways = (words.empty() ? 0 : 1) + (options.place.contact.empty() ? 0 : 1) + (by_name ? 1 : 0);
    if (ways > 1 || words.size() > 2)
        return usage_error("name the managers in one way: HOST PORT, RUN, --contact FILE or -M REGEX");
    if (ways == 0 && options.needs_manager())
        return usage_error("-A, -T and -W need a manager: HOST PORT, RUN, --contact FILE or -M REGEX");
    if (const Status sound = net::contact::check_manager_pattern(options.name); !sound)
        return usage_error("-M: " + sound.error().message);
    if (words.empty()) return success();
    std::error_code unknown;
    const bool is_file = words.size() == 1 && (options.watch || words[0].find('/') != std::string::npos ||
                                               std::filesystem::exists(words[0], unknown));
    if (!is_file) return take_status_address(words, options);
    options.run = words[0];
    return success();
}

Status check_watch(const Given& given, const StatusOptions& options) {
    if (!options.watch) return success();
    if (options.run.empty()) return usage_error("--watch needs RUN: a run directory, or its list");
    if (options.has_mode || options.json || given.has("every") || given.has("where"))
        return usage_error("--watch goes without a mode, --json, --every and --where");
    return success();
}

Status fill_status(const Given& given, StatusOptions& options) {
    if (options.help || options.version) return success();
    if (const Status mode = take_status_mode(given, options); !mode) return mode;
    if (const Status place = take_status_place(given, options); !place) return place;
    if (const Status catalogs = take_status_catalogs(given, options); !catalogs) return catalogs;
    if (const Status watch = check_watch(given, options); !watch) return watch;
    options.place.limit = std::chrono::seconds(30);
    OptionTaker take(given);
    take("timeout", options.place.limit, parse_duration);
    take("every", options.every, parse_duration);
    if (take.status() && options.every && *options.every < std::chrono::milliseconds(100))
        return usage_error("--every: at least 0.1 s");
    return take.status();
}

}  // namespace

net::messages::StatusOf StatusOptions::listing() const {
    switch (mode) {
        case StatusMode::tasks:
            return net::messages::StatusOf::tasks;
        case StatusMode::workers:
            return net::messages::StatusOf::workers;
        case StatusMode::categories:
            return net::messages::StatusOf::categories;
        case StatusMode::queues:
        case StatusMode::resources:
        case StatusMode::capacity:
        case StatusMode::factories:
            break;
    }
    return net::messages::StatusOf::queue;
}

Result<StatusOptions> parse_status_options(int argc, const char* const* argv) {
    StatusOptions options;
    const auto given = read_options(words_of(argc, argv), options_of(options));
    if (!given) return given.error();
    if (const Status filled = fill_status(*given, options); !filled) return filled.error();
    return options;
}

std::string status_help() {
    StatusOptions none;
    return help_with(
        "Usage: work_queue_status [OPTIONS]\n"
        "       work_queue_status [OPTIONS] HOST [PORT]\n"
        "       work_queue_status [OPTIONS] RUN\n"
        "       work_queue_status --watch RUN\n"
        "       work_queue_status [OPTIONS] --contact FILE | -M REGEX\n"
        "\n"
        "Shows managers, their tasks, workers and categories. Without HOST, RUN, FILE and\n"
        "REGEX, work_queue_status shows all your managers (those without a name as -) and\n"
        "factories, and the managers and factories that the named catalog servers know.\n"
        "RUN is a run directory, its list, or a contact file; without a mode,\n"
        "work_queue_status shows the progress of RUN. A manager with a key answers only\n"
        "if you give --contact or --password; a manager in the registry or in your run\n"
        "needs neither. The default PORT is 9123.\n",
        options_of(none),
        "\nExamples:\n"
        "  work_queue_status                             all your managers\n"
        "  work_queue_status tasks.sh.wq                 progress of this run\n"
        "  work_queue_status --watch tasks.sh.wq         this run on a full screen\n"
        "  work_queue_status -T login1 9123              tasks of an open manager\n"
        "  work_queue_status -W --contact contact        workers, with the key\n"
        "  work_queue_status -M 'sim.*' --every 10       these managers, every 10 s\n"
        "  work_queue_status -C login1 --where 'tasks_waiting>100'\n"
        "\nExit codes: 0 shown, 64 usage, 65 no such run, 69 no manager or factory of the\n"
        "name was found, none was reached, or no catalog server answered, 71 stdout\n"
        "cannot be written, 77 not allowed (key, password or version).\n");
}

}  // namespace wq::programs::status

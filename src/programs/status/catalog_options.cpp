#include "programs/status/catalog_options.h"

#include "base/units.h"
#include "programs/command_line.h"
#include "programs/option_values.h"

namespace wq::programs::status {

namespace {

OptionTable query_options(CatalogQueryCommand& command) {
    return {
        {group, "Options"},
        {"catalog,c", "HOSTS",
         "catalog servers to ask, in this order: HOST[:PORT],... (default: $CATALOG_HOST)"},
        {"where,w", "EXPR", "print only records for which EXPR is true (default: all)", &command.where},
        {"output,p", "EXPR",
         "print the value of EXPR for each record, a line for each record; may be repeated",
         Values::repeated},
        {"timeout,t", "TIME", "try for at most TIME (default: 60)"},
        {"version,v", "", "print the version and exit", &command.version},
        {"help,h", "", "print this help and exit", &command.help},
        // Of CCTools, without effect here.
        {"debug,d", "X"},
        {"debug-file,o", "X"},
        {"debug-rotate-max,O", "X"},
    };
}

OptionTable update_options(CatalogUpdateCommand& command) {
    return {
        {group, "Options"},
        {"catalog,c", "HOSTS", "send the record to each of HOST[:PORT],... (default: $CATALOG_HOST)"},
        {"file,f", "FILE",
         "file (- for stdin) with a JSON object, whose members are added to the record or replace its "
         "members",
         &command.file},
        {"version,v", "", "print the version and exit", &command.version},
        {"help,h", "", "print this help and exit", &command.help},
        // Of CCTools, without effect here.
        {"debug,d", "X"},
        {"debug-file,o", "X"},
        {"debug-rotate-max,O", "X"},
    };
}

// What both have. Asks for a catalog, unless only help is wanted.
template <class Command>
Status fill_catalog_options(const Given& given, Command& command) {
    if (command.help || command.version) return success();
    if (given.has("place")) return usage_error("options only, no other words");
    auto hosts = net::catalog::named_catalog_hosts(given.text("catalog"));
    if (!hosts) return usage_error(hosts.error().message);
    if (hosts->empty()) return usage_error("name a catalog server: --catalog HOST[:PORT], or $CATALOG_HOST");
    command.hosts = std::move(*hosts);
    return success();
}

}  // namespace

Result<CatalogQueryCommand> parse_catalog_query_options(int argc, const char* const* argv) {
    CatalogQueryCommand command;
    const auto given = read_options(words_of(argc, argv), query_options(command));
    if (!given) return given.error();
    if (const Status filled = fill_catalog_options(*given, command); !filled) return filled.error();
    Taker take(*given);
    take("timeout", command.timeout, parse_duration);
    if (!take.status()) return take.status().error();
    const auto checked = [](const char* option, const std::string& expression) {
        auto parsed = net::catalog::JxExpression::parse(expression);
        if (parsed) return parsed;
        return Result<net::catalog::JxExpression>(
            Error{ExitCode::bad_input, std::string(option) + ": " + parsed.error().message});
    };
    if (given->has("where"))
        if (const auto parsed = checked("--where", command.where); !parsed) return parsed.error();
    for (const std::string& column : given->texts("output")) {
        auto parsed = checked("--output", column);
        if (!parsed) return parsed.error();
        command.columns.emplace_back(column, std::move(*parsed));
    }
    return command;
}

std::string catalog_query_help() {
    CatalogQueryCommand none;
    return help_with(
        "Usage: catalog_query [OPTION]...\n"
        "Prints the records that managers, factories and others have sent to a catalog\n"
        "server, as an array of JSON objects. EXPR is an expression over a record, as in\n"
        "JX. It may use names of the record's members, JSON values, the operators == != <\n"
        "<= > >= and or not + - * / % [] and functions such as like(project, \"sim.*\") and\n"
        "len(project).\n\n",
        query_options(none),
        "\nExamples:\n"
        "  catalog_query -c catalog.example.org\n"
        "  catalog_query -w 'type==\"wq_master\" and tasks_waiting>0'\n"
        "  catalog_query -w 'like(project, \"sim.*\")' -p project -p 'tasks_waiting>0'\n"
        "\nExit codes: 0 printed, 64 wrong options, 65 an expression that cannot be read,\n"
        "69 no server answers, 71 stdout cannot be written.\n");
}

Result<CatalogUpdateCommand> parse_catalog_update_options(int argc, const char* const* argv) {
    CatalogUpdateCommand command;
    const auto given = read_options(words_of(argc, argv), update_options(command));
    if (!given) return given.error();
    if (const Status filled = fill_catalog_options(*given, command); !filled) return filled.error();
    return command;
}

std::string catalog_update_help() {
    CatalogUpdateCommand none;
    return help_with(
        "Usage: catalog_update [OPTION]...\n"
        "Sends a record of this machine to catalog servers, once. The record has the type\n"
        "\"node\", and the machine's name, cores, memory and load. Catalog servers forget\n"
        "the record after some time. $CATALOG_UPDATE_PROTOCOL is tcp or udp (default:\n"
        "tcp).\n\n",
        update_options(none),
        "\nExamples:\n"
        "  catalog_update -c catalog.example.org\n"
        "  catalog_update -c localhost:9097,backup.example.org -f record.json\n"
        "  echo '{\"type\": \"license\", \"free\": 3}' | catalog_update -c localhost -f -\n"
        "\nExit codes: 0 a server has the record, 64 wrong options, 65 FILE is no JSON\n"
        "object, 69 no server takes the record.\n");
}

}  // namespace wq::programs::status

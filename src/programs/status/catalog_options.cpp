#include "programs/status/catalog_options.h"

#include "base/units.h"
#include "programs/command_line.h"

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
    OptionTaker take(*given);
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

namespace {

OptionTable options_of(CatalogServerCommand& command) {
    return {
        {group, "Options"},
        {"port,p", "PORT",
         "port for queries by HTTP and updates by UDP; updates by TCP use PORT + 1 (default: 9097)"},
        {"port-file,Z", "FILE", "use any free port, and write its number to FILE", &command.port_file},
        {"interface,I", "ADDRESS", "listen only on ADDRESS; may be repeated (default: all addresses)",
         &command.settings.interfaces},
        {"name,n", "NAME", "name of this server on its pages (default: the host's name)",
         &command.settings.name},
        {"lifetime,l", "TIME", "keep a record for TIME after its last update (default: 30m)"},
        {"memory", "SIZE", "memory for all records together (default: 100M)"},
        {"history,H", "DIR",
         "keep records over restarts, and a history of their changes, in DIR (default: none)",
         &command.settings.history},
        {"history-limit", "SIZE",
         "total size of all files in DIR; the server removes the oldest days (default: 1G)"},
        {"server-size,M", "BYTES", "limit a record's 'total' and 'avail' to BYTES"},
        {"timeout,T", "TIME", "time limit of the answer to a query (default: 10m)"},
        {"ssl-port", "PORT", "answer queries by HTTPS, too, on PORT; 0: any free port"},
        {"ssl-port-file,Y", "FILE", "write the number of the HTTPS port to FILE", &command.ssl_port_file},
        {"ssl-cert,C", "FILE",
         "server's certificate, and the certificates between it and its authority (PEM)",
         &command.settings.ssl_certificate},
        {"ssl-key,K", "FILE", "key of the server's certificate (PEM)", &command.settings.ssl_key},
        {"update-host,u", "HOSTS", "announce this server to HOST[:PORT],... (default: none)"},
        {"update-interval,U", "TIME", "announce this server every TIME (default: 5m)"},
        {"background,b", "", "run as a daemon", &command.background},
        {"pid-file,B", "FILE", "write the server's process id to FILE", &command.pid_file},
        {"version,v", "", "print the version and exit", &command.version},
        {"help,h", "", "print this help and exit", &command.help},
        // Of CCTools' server, without effect here.
        {"debug,d", "X"},
        {"debug-file,o", "X"},
        {"debug-rotate-max,O", "X"},
        {"max-jobs,m", "X"},
        {"update-log,L", "X"},
        {"single,S", ""},
    };
}

Status fill_server_options(const Given& given, CatalogServerCommand& command) {
    net::catalog_server::ServerSettings& settings = command.settings;
    settings.ssl = given.has("ssl-port") || given.has("ssl-port-file");
    if (given.has("place")) return usage_error("options only, no other words");
    if (!command.port_file.empty()) settings.port = 0;
    if (settings.ssl && (settings.ssl_certificate.empty() || settings.ssl_key.empty()))
        return usage_error("--ssl-port needs --ssl-cert and --ssl-key");
    if (!settings.ssl && !(settings.ssl_certificate + settings.ssl_key).empty())
        return usage_error("--ssl-cert and --ssl-key need --ssl-port");
    for (const char* const name : {"max-jobs", "update-log", "single"})
        if (given.has(name))
            command.remarks.push_back("--" + std::string(name) + " has no effect: one thread serves all");
    auto hosts = net::catalog::read_catalog_hosts(given.text("update-host"));
    if (!hosts) return usage_error("-u: " + hosts.error().message);
    settings.upstream = std::move(*hosts);
    OptionTaker take(given);
    if (settings.port != 0) take("port", settings.port, between(1, 65534));
    take("ssl-port", settings.ssl_port, between(0, 65535));
    take("lifetime", settings.table.lifetime, parse_duration);
    take("memory", settings.table.bytes, parse_bytes);
    take("server-size", settings.table.believed, parse_bytes);
    take("history-limit", settings.history_limits.bytes, parse_bytes);
    take("timeout", settings.guests.answer, parse_duration);
    take("update-interval", settings.upstream_every, parse_duration);
    if (!take.status()) return take.status();
    if (settings.table.lifetime < std::chrono::seconds(1)) return usage_error("-l: at least 1 s");
    if (settings.upstream_every < std::chrono::seconds(1)) return usage_error("-U: at least 1 s");
    if (settings.table.bytes < (4U << 20)) return usage_error("--memory: at least 4M");
    if (settings.history_limits.bytes < (16 << 20)) return usage_error("--history-limit: at least 16M");
    if (settings.history.empty() && given.has("history-limit"))
        return usage_error("--history-limit needs --history");
    return success();
}

}  // namespace

Result<CatalogServerCommand> parse_catalog_server_options(int argc, const char* const* argv) {
    CatalogServerCommand command;
    const auto given = read_options(words_of(argc, argv), options_of(command));
    if (!given) return given.error();
    if (const Status filled = fill_server_options(*given, command); !filled) return filled.error();
    return command;
}

std::string catalog_server_help() {
    CatalogServerCommand none;
    return help_with(
        "Usage: catalog_server [OPTION]...\n"
        "Keeps the records that managers and factories announce, so that workers find\n"
        "managers by name. To see the records, open http://HOST:9097/ in a browser, or\n"
        "use work_queue_status or catalog_query in a terminal. Anyone who reaches the\n"
        "server may announce and read records.\n\n",
        options_of(none),
        "\nExamples:\n"
        "  catalog_server                     on ports 9097 and 9098, until a signal\n"
        "  catalog_server -Z port -I 127.0.0.1\n"
        "                                     only for this machine, on a free port\n"
        "  catalog_server -H /var/lib/catalog --history-limit 4G\n"
        "                                     keep records over restarts, and a history\n"
        "  catalog_server --ssl-port 9443 --ssl-cert site.pem --ssl-key site.key\n"
        "                                     serve pages by HTTPS, too\n"
        "\nExit codes: 0 ended by a signal, 64 wrong options, 65 a certificate, key or\n"
        "DIR that cannot be used, 69 a port or address that cannot be used, 71 refused by\n"
        "the system, 77 not allowed.\n");
}

}  // namespace wq::programs::status

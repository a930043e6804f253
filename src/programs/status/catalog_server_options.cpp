#include "programs/status/catalog_server_options.h"

#include <boost/program_options.hpp>
#include <sstream>

#include "base/units.h"
#include "programs/command_line.h"
#include "programs/option_values.h"

namespace wq::programs::status {

namespace {

namespace po = boost::program_options;

po::options_description visible_server_options() {
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    po::options_description options("Options", help_width, help_width / 2);
    options.add_options()(
        "port,p", text("PORT"),
        "port for queries by HTTP and updates by UDP; updates by TCP use PORT + 1 (default: 9097)")(
        "port-file,Z", text("FILE"), "use any free port, and write its number to FILE")(
        "interface,I", po::value<std::vector<std::string>>()->value_name("ADDRESS"),
        "listen only on ADDRESS; may be repeated (default: all addresses)")(
        "name,n", text("NAME"), "name of this server on its pages (default: the host's name)")(
        "lifetime,l", text("TIME"), "keep a record for TIME after its last update (default: 30m)")(
        "memory", text("SIZE"), "memory for all records together (default: 100M)")(
        "history,H", text("DIR"),
        "keep records over restarts, and a history of their changes, in DIR (default: none)")(
        "history-limit", text("SIZE"),
        "total size of all files in DIR; the server removes the oldest days (default: 1G)")(
        "server-size,M", text("BYTES"), "limit a record's 'total' and 'avail' to BYTES")(
        "timeout,T", text("TIME"), "time limit of the answer to a query (default: 10m)")(
        "ssl-port", text("PORT"), "answer queries by HTTPS, too, on PORT; 0: any free port")(
        "ssl-port-file,Y", text("FILE"), "write the number of the HTTPS port to FILE")(
        "ssl-cert,C", text("FILE"),
        "server's certificate, and the certificates between it and its authority (PEM)")(
        "ssl-key,K", text("FILE"), "key of the server's certificate (PEM)")(
        "update-host,u", text("HOSTS"), "announce this server to HOST[:PORT],... (default: none)")(
        "update-interval,U", text("TIME"), "announce this server every TIME (default: 5m)")(
        "background,b", "run as a daemon")("pid-file,B", text("FILE"),
                                           "write the server's process id to FILE")(
        "version,v", "print the version and exit")("help,h", "print this help and exit");
    return options;
}

// Of CCTools' server, without effect here.
po::options_description hidden_server_options() {
    po::options_description hidden;
    for (const char* const name :
         {"debug,d", "debug-file,o", "debug-rotate-max,O", "max-jobs,m", "update-log,L"})
        hidden.add_options()(name, po::value<std::string>());
    hidden.add_options()("single,S", "");
    return hidden;
}

Status fill_server_options(const po::variables_map& given, CatalogServerCommand& command) {
    net::catalog_server::ServerSettings& settings = command.settings;
    const auto text = [&](const char* name) {
        return given.count(name) > 0 ? given[name].as<std::string>() : std::string();
    };
    command.help = given.count("help") > 0;
    command.version = given.count("version") > 0;
    command.background = given.count("background") > 0;
    command.port_file = text("port-file");
    command.ssl_port_file = text("ssl-port-file");
    command.pid_file = text("pid-file");
    settings.name = text("name");
    settings.history = text("history");
    settings.ssl_certificate = text("ssl-cert");
    settings.ssl_key = text("ssl-key");
    settings.ssl = given.count("ssl-port") + given.count("ssl-port-file") > 0;
    if (given.count("place") > 0) return usage_error("options only, no other words");
    if (given.count("interface") > 0) settings.interfaces = given["interface"].as<std::vector<std::string>>();
    if (!command.port_file.empty()) settings.port = 0;
    if (settings.ssl && (settings.ssl_certificate.empty() || settings.ssl_key.empty()))
        return usage_error("--ssl-port needs --ssl-cert and --ssl-key");
    if (!settings.ssl && !(settings.ssl_certificate + settings.ssl_key).empty())
        return usage_error("--ssl-cert and --ssl-key need --ssl-port");
    for (const char* const name : {"max-jobs", "update-log", "single"})
        if (given.count(name) > 0)
            command.remarks.push_back("--" + std::string(name) + " has no effect: one thread serves all");
    auto hosts = net::catalog::read_catalog_hosts(text("update-host"));
    if (!hosts) return usage_error("-u: " + hosts.error().message);
    settings.upstream = std::move(*hosts);
    Status taken = success();
    const auto takes = [&](const char* name, auto& target, const auto& convert) {
        if (taken) taken = take(given, name, target, convert);
    };
    if (settings.port != 0) takes("port", settings.port, between(1, 65534));
    takes("ssl-port", settings.ssl_port, between(0, 65535));
    takes("lifetime", settings.table.lifetime, parse_duration);
    takes("memory", settings.table.bytes, [](const std::string& word) { return parse_size(word, 1); });
    takes("server-size", settings.table.believed,
          [](const std::string& word) { return parse_size(word, 1); });
    takes("history-limit", settings.history_limits.bytes,
          [](const std::string& word) { return parse_size(word, 1); });
    takes("timeout", settings.guests.answer, parse_duration);
    takes("update-interval", settings.upstream_every, parse_duration);
    if (taken && settings.table.lifetime < std::chrono::seconds(1)) return usage_error("-l: at least 1 s");
    if (taken && settings.upstream_every < std::chrono::seconds(1)) return usage_error("-U: at least 1 s");
    if (taken && settings.table.bytes < (4U << 20)) return usage_error("--memory: at least 4M");
    if (taken && settings.history_limits.bytes < (16 << 20))
        return usage_error("--history-limit: at least 16M");
    if (taken && settings.history.empty() && given.count("history-limit") > 0)
        return usage_error("--history-limit needs --history");
    return taken;
}

}  // namespace

Result<CatalogServerCommand> parse_catalog_server_options(int argc, const char* const* argv) {
    const auto given =
        split_words(words_of(argc, argv), visible_server_options(), "place", hidden_server_options());
    if (!given) return given.error();
    CatalogServerCommand command;
    if (const Status filled = fill_server_options(*given, command); !filled) return filled.error();
    return command;
}

std::string catalog_server_help() {
    std::ostringstream out;
    out << "Usage: catalog_server [OPTION]...\n"
           "Keeps the records that managers and factories announce, so that workers find\n"
           "managers by name. To see the records, open http://HOST:9097/ in a browser, or\n"
           "use work_queue_status or catalog_query in a terminal. Anyone who reaches the\n"
           "server may announce and read records.\n\n"
        << visible_server_options()
        << "\nExamples:\n"
           "  catalog_server                     on ports 9097 and 9098, until a signal\n"
           "  catalog_server -Z port -I 127.0.0.1\n"
           "                                     only for this machine, on a free port\n"
           "  catalog_server -H /var/lib/catalog --history-limit 4G\n"
           "                                     keep records over restarts, and a history\n"
           "  catalog_server --ssl-port 9443 --ssl-cert site.pem --ssl-key site.key\n"
           "                                     serve pages by HTTPS, too\n"
           "\nExit codes: 0 ended by a signal, 64 wrong options, 65 a certificate, key or\n"
           "DIR that cannot be used, 69 a port or address that cannot be used, 71 refused by\n"
           "the system, 77 not allowed.\n";
    return without_trailing_blanks(out.str());
}

}  // namespace wq::programs::status

#include "programs/status/catalog_server_options.h"

#include <boost/program_options.hpp>
#include <sstream>

#include "base/units.h"
#include "programs/command_line.h"
#include "programs/help_text.h"
#include "programs/option_values.h"

namespace wq::programs::status {

namespace {

namespace po = boost::program_options;

po::options_description visible_server_options() {
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    po::options_description options("Options", help_width, help_width / 2);
    options.add_options()(
        "port,p", text("PORT"),
        "of queries by HTTP and updates by UDP; updates by TCP have PORT + 1 (default: 9097)")(
        "port-file,Z", text("FILE"), "take any free port, and write its number to FILE")(
        "interface,I", po::value<std::vector<std::string>>()->value_name("ADDRESS"),
        "listen only there; may be repeated (default: everywhere)")(
        "name,n", text("NAME"), "this server's name on its pages (default: the host's)")(
        "lifetime,l", text("TIME"), "how long a record is kept that is not sent again (default: 30m)")(
        "memory", text("SIZE"), "of all records (default: 100M)")(
        "history,H", text("DIR"),
        "keep records over a restart, and their changes, in DIR (default: nowhere)")(
        "history-limit", text("SIZE"), "of all files in DIR; the oldest days are removed (default: 1G)")(
        "server-size,M", text("BYTES"), "a record's 'total' and 'avail' are at most BYTES")(
        "timeout,T", text("TIME"), "longest answer to a query (default: 10m)")(
        "ssl-port", text("PORT"), "queries by HTTPS, too; 0: any port")(
        "ssl-port-file,Y", text("FILE"), "write the number of that port to FILE")(
        "ssl-cert,C", text("FILE"), "certificate, and those between it and its authority (PEM)")(
        "ssl-key,K", text("FILE"), "its key (PEM)")("update-host,u", text("HOSTS"),
                                                    "tell HOST[:PORT],... of this server (default: nobody)")(
        "update-interval,U", text("TIME"), "tell them every TIME (default: 5m)")(
        "background,b", "run as a daemon")("pid-file,B", text("FILE"), "write the process's number to FILE")(
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
           "Holds what managers and factories announce of themselves, so that workers find\n"
           "them by name and people see how they are: http://HOST:9097/ in a browser,\n"
           "work_queue_status and catalog_query in a terminal. Whoever reaches the server\n"
           "may announce and read.\n\n"
        << visible_server_options()
        << "\nExamples:\n"
           "  catalog_server                     on port 9097 and 9098, until it is ended\n"
           "  catalog_server -Z port -I 127.0.0.1\n"
           "                                     for this machine, on a free port\n"
           "  catalog_server -H /var/lib/catalog --history-limit 4G\n"
           "                                     records outlive a restart; with a history\n"
           "  catalog_server --ssl-port 9443 --ssl-cert site.pem --ssl-key site.key\n"
           "                                     pages by HTTPS, too\n"
           "\nExit codes: 0 ended by a signal, 64 wrong options, 65 certificate, key or DIR\n"
           "that cannot be used, 69 port or address that cannot be had, 71 refused by the\n"
           "system, 77 not allowed.\n";
    return without_trailing_blanks(out.str());
}

}  // namespace wq::programs::status

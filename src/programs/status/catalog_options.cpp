#include "programs/status/catalog_options.h"

#include <boost/program_options.hpp>
#include <sstream>

#include "base/units.h"
#include "programs/command_line.h"
#include "programs/option_values.h"

namespace wq::programs::status {

namespace {

namespace po = boost::program_options;

auto catalog_word(const char* name) {
    return po::value<std::string>()->value_name(name);
}

// Of CCTools' programs, without effect here.
po::options_description hidden_catalog_options() {
    po::options_description hidden;
    for (const char* const name : {"debug,d", "debug-file,o", "debug-rotate-max,O"})
        hidden.add_options()(name, po::value<std::string>());
    return hidden;
}

po::options_description visible_query_options() {
    po::options_description options("Options", help_width, help_width / 2);
    options.add_options()("catalog,c", catalog_word("HOSTS"),
                          "catalog servers to ask, in this order: HOST[:PORT],... (default: $CATALOG_HOST)")(
        "where,w", catalog_word("EXPR"), "print only records for which EXPR is true (default: all)")(
        "output,p", po::value<std::vector<std::string>>()->value_name("EXPR"),
        "print the value of EXPR for each record, a line for each record; may be repeated")(
        "timeout,t", catalog_word("TIME"), "try for at most TIME (default: 60)")(
        "version,v", "print the version and exit")("help,h", "print this help and exit");
    return options;
}

po::options_description visible_update_options() {
    po::options_description options("Options", help_width, help_width / 2);
    options.add_options()("catalog,c", catalog_word("HOSTS"),
                          "send the record to each of HOST[:PORT],... (default: $CATALOG_HOST)")(
        "file,f", catalog_word("FILE"),
        "file (- for stdin) with a JSON object, whose members are added to the record or replace its "
        "members")("version,v", "print the version and exit")("help,h", "print this help and exit");
    return options;
}

// What both have. Asks for a catalog, unless only help is wanted.
template <class Command>
Status fill_catalog_options(const po::variables_map& given, Command& command) {
    command.help = given.count("help") > 0;
    command.version = given.count("version") > 0;
    if (command.help || command.version) return success();
    if (given.count("place") > 0) return usage_error("options only, no other words");
    auto hosts = net::catalog::named_catalog_hosts(
        given.count("catalog") > 0 ? given["catalog"].as<std::string>() : "");
    if (!hosts) return usage_error(hosts.error().message);
    if (hosts->empty()) return usage_error("name a catalog server: --catalog HOST[:PORT], or $CATALOG_HOST");
    command.hosts = std::move(*hosts);
    return success();
}

}  // namespace

Result<CatalogQueryCommand> parse_catalog_query_options(int argc, const char* const* argv) {
    const auto given =
        split_words(words_of(argc, argv), visible_query_options(), "place", hidden_catalog_options());
    if (!given) return given.error();
    CatalogQueryCommand command;
    if (const Status filled = fill_catalog_options(*given, command); !filled) return filled.error();
    if (const Status time = take(*given, "timeout", command.timeout, parse_duration); !time)
        return time.error();
    const auto checked = [](const char* option, const std::string& expression) {
        auto parsed = net::catalog::JxExpression::parse(expression);
        if (parsed) return parsed;
        return Result<net::catalog::JxExpression>(
            Error{ExitCode::bad_input, std::string(option) + ": " + parsed.error().message});
    };
    if (given->count("where") > 0) {
        command.where = (*given)["where"].as<std::string>();
        if (const auto parsed = checked("--where", command.where); !parsed) return parsed.error();
    }
    if (given->count("output") == 0) return command;
    for (const std::string& column : (*given)["output"].as<std::vector<std::string>>()) {
        auto parsed = checked("--output", column);
        if (!parsed) return parsed.error();
        command.columns.emplace_back(column, std::move(*parsed));
    }
    return command;
}

std::string catalog_query_help() {
    std::ostringstream out;
    out << "Usage: catalog_query [OPTION]...\n"
           "Prints the records that managers, factories and others have sent to a catalog\n"
           "server, as an array of JSON objects. EXPR is an expression over a record, as in\n"
           "JX. It may use names of the record's members, JSON values, the operators == != <\n"
           "<= > >= and or not + - * / % [] and functions such as like(project, \"sim.*\") and\n"
           "len(project).\n\n"
        << visible_query_options()
        << "\nExamples:\n"
           "  catalog_query -c catalog.example.org\n"
           "  catalog_query -w 'type==\"wq_master\" and tasks_waiting>0'\n"
           "  catalog_query -w 'like(project, \"sim.*\")' -p project -p 'tasks_waiting>0'\n"
           "\nExit codes: 0 printed, 64 wrong options, 65 an expression that cannot be read,\n"
           "69 no server answers, 71 stdout cannot be written.\n";
    return without_trailing_blanks(out.str());
}

Result<CatalogUpdateCommand> parse_catalog_update_options(int argc, const char* const* argv) {
    const auto given =
        split_words(words_of(argc, argv), visible_update_options(), "place", hidden_catalog_options());
    if (!given) return given.error();
    CatalogUpdateCommand command;
    if (const Status filled = fill_catalog_options(*given, command); !filled) return filled.error();
    if (given->count("file") > 0) command.file = (*given)["file"].as<std::string>();
    return command;
}

std::string catalog_update_help() {
    std::ostringstream out;
    out << "Usage: catalog_update [OPTION]...\n"
           "Sends a record of this machine to catalog servers, once. The record has the type\n"
           "\"node\", and the machine's name, cores, memory and load. Catalog servers forget\n"
           "the record after some time. $CATALOG_UPDATE_PROTOCOL is tcp or udp (default:\n"
           "tcp).\n\n"
        << visible_update_options()
        << "\nExamples:\n"
           "  catalog_update -c catalog.example.org\n"
           "  catalog_update -c localhost:9097,backup.example.org -f record.json\n"
           "  echo '{\"type\": \"license\", \"free\": 3}' | catalog_update -c localhost -f -\n"
           "\nExit codes: 0 a server has the record, 64 wrong options, 65 FILE is no JSON\n"
           "object, 69 no server takes the record.\n";
    return without_trailing_blanks(out.str());
}

}  // namespace wq::programs::status

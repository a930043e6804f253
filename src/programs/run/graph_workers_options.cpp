#include "programs/run/graph_workers_options.h"

#include <boost/program_options.hpp>
#include <sstream>
#include <vector>

#include "programs/command_line.h"
#include "programs/option_values.h"

namespace wq::programs::run {

namespace {

namespace po = boost::program_options;

po::options_description visible_graph_workers_options() {
    po::options_description options("Options", help_width, help_width / 2);
    auto add = options.add_options();
    add(",g", "show a bar for each attempt first, by start time (default)");
    add(",t", "show a row for each slot of each worker first");
    add(",w", "show a bar for each worker first, idle or working");
    add(",o", po::value<std::string>()->value_name("FILE"),
        "file to write (default: LOG.html, or LOG.png with --png)");
    add("png", "draw the chosen order as a picture with gnuplot, instead of a page");
    add(",c", po::value<std::string>()->value_name("PROGRAM"), "gnuplot program to use (default: gnuplot)");
    add("version", "print the version and exit");
    add("help,h", "print this help and exit");
    return options;
}

Status fill(const po::variables_map& given, GraphWorkersOptions& options) {
    options.help = given.count("help") > 0;
    options.version = given.count("version") > 0;
    options.png = given.count("png") > 0;
    if (options.help || options.version) return success();
    for (const char letter : {'g', 'w', 't'})  // as in CCTools, of several the last of these
        if (given.count(std::string("-") + letter) > 0) options.order = static_cast<views::Order>(letter);
    const auto logs =
        given.count("place") > 0 ? given["place"].as<std::vector<std::string>>() : std::vector<std::string>();
    if (logs.size() > 1) return usage_error("give one log at a time");
    if (logs.empty() || logs.front().empty())
        return usage_error("give a run directory, a stats.h5 or a transactions log");
    options.log = logs.front();
    if (given.count("-o") > 0) options.output = given["-o"].as<std::string>();
    if (given.count("-o") > 0 && options.output.empty()) return usage_error("-o takes a file, not ''");
    if (given.count("-c") > 0) options.gnuplot = given["-c"].as<std::string>();
    return success();
}

}  // namespace

Result<GraphWorkersOptions> parse_graph_workers_options(int argc, const char* const* argv) {
    const auto given = split_words(words_of(argc, argv), visible_graph_workers_options(), "place");
    if (!given) return given.error();
    GraphWorkersOptions options;
    if (auto filled = fill(*given, options); !filled) return filled.error();
    return options;
}

std::string graph_workers_help() {
    std::ostringstream out;
    out << "Usage: work_queue_graph_workers [OPTION]... LOG\n"
           "Writes an HTML page that shows when each worker ran which tasks, as bars over\n"
           "time. A browser opens the page without a server or a network. The page can zoom,\n"
           "describe each attempt, and change between the orders -g, -t and -w. LOG is a run\n"
           "directory, a stats.h5 (with the attempts that have ended), or a transactions log\n"
           "of this or another Work Queue. The run may be live, ended or killed.\n\n"
        << visible_graph_workers_options()
        << "\nExamples:\n"
           "  work_queue_graph_workers tasks.sh.wq          writes tasks.sh.wq/stats.h5.html\n"
           "  work_queue_graph_workers -w -o workers.html my.tr.log\n"
           "                                                workers first, of a program\n"
           "  work_queue_graph_workers -t --png -o slots.png tasks.sh.wq\n"
           "                                                a picture of the workers' slots\n"
           "\nExit codes: 0 written, 64 wrong options or a file that cannot be written,\n"
           "65 a log that cannot be read, 69 no gnuplot, 70 gnuplot failed, 71 stdout cannot\n"
           "be written, 77 not allowed.\n";
    return without_trailing_blanks(out.str());
}

}  // namespace wq::programs::run

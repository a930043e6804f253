#include "programs/run/graph_workers_options.h"

#include <vector>

#include "programs/command_line.h"
#include "programs/option_values.h"

namespace wq::programs::run {

namespace {

OptionTable options_of(GraphWorkersOptions& options) {
    return {
        {group, "Options"},
        {",g", "", "show a bar for each attempt first, by start time (default)"},
        {",t", "", "show a row for each slot of each worker first"},
        {",w", "", "show a bar for each worker first, idle or working"},
        {",o", "FILE", "file to write (default: LOG.html, or LOG.png with --png)", &options.output},
        {"png", "", "draw the chosen order as a picture with gnuplot, instead of a page", &options.png},
        {",c", "PROGRAM", "gnuplot program to use (default: gnuplot)", &options.gnuplot},
        {"version", "", "print the version and exit", &options.version},
        {"help,h", "", "print this help and exit", &options.help},
    };
}

Status fill(const Given& given, GraphWorkersOptions& options) {
    if (options.help || options.version) return success();
    for (const char letter : {'g', 'w', 't'})  // as in CCTools, of several the last of these
        if (given.has(std::string("-") + letter)) options.order = static_cast<views::Order>(letter);
    const auto logs = given.texts("place");
    if (logs.size() > 1) return usage_error("give one log at a time");
    if (logs.empty() || logs.front().empty())
        return usage_error("give a run directory, a stats.h5 or a transactions log");
    options.log = logs.front();
    if (given.has("-o") && options.output.empty()) return usage_error("-o takes a file, not ''");
    return success();
}

}  // namespace

Result<GraphWorkersOptions> parse_graph_workers_options(int argc, const char* const* argv) {
    GraphWorkersOptions options;
    const auto given = read_options(words_of(argc, argv), options_of(options));
    if (!given) return given.error();
    if (auto filled = fill(*given, options); !filled) return filled.error();
    return options;
}

std::string graph_workers_help() {
    GraphWorkersOptions none;
    return help_with(
        "Usage: work_queue_graph_workers [OPTION]... LOG\n"
        "Writes an HTML page that shows when each worker ran which tasks, as bars over\n"
        "time. A browser opens the page without a server or a network. The page can zoom,\n"
        "describe each attempt, and change between the orders -g, -t and -w. LOG is a run\n"
        "directory, a stats.h5 (with the attempts that have ended), or a transactions log\n"
        "of this or another Work Queue. The run may be live, ended or killed.\n\n",
        options_of(none),
        "\nExamples:\n"
        "  work_queue_graph_workers tasks.sh.wq          writes tasks.sh.wq/stats.h5.html\n"
        "  work_queue_graph_workers -w -o workers.html my.tr.log\n"
        "                                                workers first, of a program\n"
        "  work_queue_graph_workers -t --png -o slots.png tasks.sh.wq\n"
        "                                                a picture of the workers' slots\n"
        "\nExit codes: 0 written, 64 wrong options or a file that cannot be written,\n"
        "65 a log that cannot be read, 69 no gnuplot, 70 gnuplot failed, 71 stdout cannot\n"
        "be written, 77 not allowed.\n");
}

}  // namespace wq::programs::run

#include "programs/run/graph_options.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "programs/command_line.h"

namespace wq::programs::run {

namespace {

OptionTable options_of(GraphLogOptions& options) {
    return {
        {group, "Options"},
        {",o", "PREFIX", "prefix of the plots' file names (default: the name of the log)"},
        {",T", "FORMAT",
         "format of the plots: png, svg or pdf; script prints gnuplot's input instead (default: png)"},
        {",r", "MIN:MAX",
         "draw only this time range, in units of -u since the start; MIN or MAX may be omitted"},
        {",u", "s|m|h|d", "unit of the time axis (default: chosen by the length of the run)"},
        {",c", "PROGRAM", "gnuplot program to use (default: gnuplot)", &options.gnuplot},
        {"log", "", "also draw each plot over time on a logarithmic scale, as PREFIX.tasks-log.png",
         &options.log_scale},
        {"skip-empty", "", "do not draw empty plots", &options.skip_empty},
        {"version", "", "print the version and exit", &options.version},
        {"help,h", "", "print this help and exit", &options.help},
    };
}

bool parse_bound(const std::string& text, double& value) {
    char* end = nullptr;
    value = std::strtod(text.c_str(), &end);
    return end != text.c_str() && *end == '\0' && std::isfinite(value);
}

Result<views::PlotRange> parse_range(const std::string& text) {
    const auto colon = text.find(':');
    views::PlotRange range;
    if (colon == std::string::npos || colon != text.rfind(':'))
        return usage_error("-r takes MIN:MAX, not '" + text + "'");
    const std::string low = text.substr(0, colon);
    const std::string high = text.substr(colon + 1);
    double max = 0;
    if ((!low.empty() && !parse_bound(low, range.min)) || (!high.empty() && !parse_bound(high, max))) {
        return usage_error("-r takes two numbers, not '" + text + "'");
    }
    if (!high.empty()) range.max = max;
    if (range.max && *range.max <= range.min)
        return usage_error("-r needs MIN below MAX, not '" + text + "'");
    return range;
}

Status fill(const Given& given, GraphLogOptions& options) {
    if (options.help || options.version) return success();
    const auto logs = given.texts("place");
    if (logs.size() > 1) return usage_error("give one statistics file at a time");
    if (!logs.empty()) options.log = logs.front();
    if (options.log.empty()) return usage_error("give a run directory, a stats.h5 or a text statistics log");
    std::error_code unknown;
    if (std::filesystem::is_directory(options.log, unknown))
        options.log = (std::filesystem::path(options.log) / "stats.h5").string();
    options.prefix = given.has("-o") ? given.text("-o") : options.log;
    if (const std::string type = given.text("-T"); !type.empty()) {
        if (type == "png")
            options.format = views::PlotFormat::png;
        else if (type == "svg")
            options.format = views::PlotFormat::svg;
        else if (type == "pdf")
            options.format = views::PlotFormat::pdf;
        else if (type == "script")
            options.script_only = true;
        else
            return usage_error("-T takes png, svg, pdf or script, not '" + type + "'");
    }
    if (given.has("-r")) {
        auto range = parse_range(given.text("-r"));
        if (!range) return range.error();
        options.range = *range;
    }
    if (const std::string unit = given.text("-u"); given.has("-u")) {
        if (unit.size() != 1 || std::string("smhd").find(unit) == std::string::npos) {
            return usage_error("-u takes s, m, h or d, not '" + unit + "'");
        }
        options.unit = static_cast<views::TimeUnit>(unit[0]);
    }
    return success();
}

}  // namespace

Result<GraphLogOptions> parse_graph_log_options(int argc, const char* const* argv) {
    GraphLogOptions options;
    const auto given = read_options(words_of(argc, argv), options_of(options));
    if (!given) return given.error();
    if (auto filled = fill(*given, options); !filled) return filled.error();
    return options;
}

std::string graph_log_help() {
    GraphLogOptions none;
    return help_with(
        "Usage: work_queue_graph_log [OPTION]... STATS\n"
        "Draws the statistics of a run with gnuplot, as PREFIX.tasks.png and so on. The\n"
        "plots show tasks, workers, cores, time and transfer over time; attempts as bars;\n"
        "run times, use of nodes, and memory allocated and used. STATS is a run directory\n"
        "or its stats.h5, of a live, ended or killed run. STATS may also be a text\n"
        "statistics log of work_queue_run --stats-log or of another Work Queue; a text\n"
        "log gives only the plots over time.\n\n",
        options_of(none),
        "\nExamples:\n"
        "  work_queue_graph_log tasks.sh.wq              write the plots beside stats.h5\n"
        "  work_queue_graph_log -o plots/run1 -T svg my.stats.log\n"
        "  work_queue_graph_log -u m -r 10:20 tasks.sh.wq\n"
        "                                                draw only minutes 10 to 20\n"
        "  work_queue_graph_log -u h -r :2 tasks.sh.wq   draw only the first two hours\n"
        "  work_queue_graph_log -T script my.stats.log > my.gnuplot\n"
        "\nExit codes: 0 drawn, 64 wrong options, 65 statistics that cannot be read,\n"
        "69 no gnuplot, 70 gnuplot failed, 71 stdout cannot be written.\n");
}

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
        if (given.has(std::string("-") + letter)) options.order = static_cast<views::RowOrder>(letter);
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

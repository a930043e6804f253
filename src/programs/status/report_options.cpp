#include "programs/status/report_options.h"

#include <utility>

#include "programs/command_line.h"

namespace wq::programs::status {

namespace {

using Form = ReportOptions::Form;

OptionTable options_of(ReportOptions& options) {
    return {
        {group, "Options"},
        {"output,o", "FILE", "write the page to FILE (default: report.html in the run directory)"},
        {"no-output", "", "leave out what tasks wrote to stderr, for others to read", &options.no_output},
        {"no-commands", "", "leave out the commands of tasks", &options.no_commands},
        {"text", "", "print 40 lines instead of a page; the default for two runs"},
        {"json", "", "print all figures as a JSON object; of two runs an array"},
        {"csv", "DIR",
         "write attempts.csv, workers.csv, account.csv, categories.csv and waiting.csv into DIR"},
        {"trace", "FILE",
         "write the attempts as a trace, which https://ui.perfetto.dev and chrome://tracing show"},
        {"version", "", "print the version and exit", &options.version},
        {"help,h", "", "print this help and exit", &options.help},
    };
}

Status fill(const Given& given, ReportOptions& options) {
    if (options.help || options.version) return success();
    options.runs = given.texts("place");
    if (options.runs.empty() || options.runs.front().empty())
        return usage_error("give a run directory, a stats.h5 or a transactions log");
    if (options.runs.size() > 2) return usage_error("give one run, or two to compare");
    std::string chosen;
    for (const auto& [name, form] : {std::pair("text", Form::text), std::pair("json", Form::json),
                                     std::pair("csv", Form::csv), std::pair("trace", Form::trace)}) {
        if (!given.has(name)) continue;
        if (!chosen.empty()) return usage_error("--" + chosen + " and --" + name + ": choose one");
        chosen = name;
        options.form = form;
        options.output = given.text(name);
    }
    if (given.has("output")) {
        if (!chosen.empty()) return usage_error("--output and --" + chosen + ": choose one");
        if (options.runs.size() == 2) return usage_error("--output takes one run");
        options.output = given.text("output");
        if (options.output.empty()) return usage_error("--output takes a file, not ''");
    }
    if (options.runs.size() == 2 && chosen.empty()) options.form = Form::text;
    const bool writes = options.form == Form::csv || options.form == Form::trace;
    if (writes && options.output.empty())
        return usage_error("--" + chosen + " takes a " + (options.form == Form::csv ? "directory" : "file") +
                           ", not ''");
    if (writes && options.runs.size() == 2) return usage_error("--" + chosen + " takes one run");
    return success();
}

}  // namespace

Result<ReportOptions> parse_report_options(int argc, const char* const* argv) {
    ReportOptions options;
    const auto given = read_options(words_of(argc, argv), options_of(options));
    if (!given) return given.error();
    if (auto filled = fill(*given, options); !filled) return filled.error();
    return options;
}

std::string report_help() {
    ReportOptions none;
    return help_with(
        "Usage: work_queue_report [OPTION]... RUN [RUN]\n"
        "Writes one HTML file that shows what a run did with its core time, what failed\n"
        "and why, which tasks were slowest, how busy each worker was, and what to change;\n"
        "or prints the same as text. Two runs are compared. RUN is a run directory, a\n"
        "stats.h5, or a transactions log of this or another Work Queue. The run may be\n"
        "live, ended or killed.\n\n",
        options_of(none),
        "\nExamples:\n"
        "  work_queue_report tasks.sh.wq                 writes tasks.sh.wq/report.html\n"
        "  work_queue_report --text tasks.sh.wq          40 lines; at the end of a batch\n"
        "                                                script, they are in slurm-N.out\n"
        "  work_queue_report before.wq after.wq          did the change help?\n"
        "  work_queue_report --json tasks.sh.wq | jq .failures\n"
        "  work_queue_report --csv tables tasks.sh.wq    for a spreadsheet, R or pandas\n"
        "  work_queue_report --trace run.json tasks.sh.wq\n"
        "                                                open it at ui.perfetto.dev\n"
        "\nExit codes: 0 reported, 64 wrong options or a file that cannot be written, 65 a\n"
        "run that cannot be read, 71 stdout cannot be written, 77 not allowed.\n");
}

}  // namespace wq::programs::status

// The command line of work_queue_report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace wq::programs::status {

struct ReportOptions {
    enum class Form : std::uint8_t { page, text, json, csv, trace };

    std::vector<std::string> runs;  // one, or two to compare
    std::string output;             // the directory of Form::csv, the file of Form::page and Form::trace
    Form form = Form::page;         // of two runs Form::text
    bool no_output = false;         // without what tasks wrote to stderr
    bool no_commands = false;
    bool help = false;
    bool version = false;
};

// Error (usage) in one line.
Result<ReportOptions> parse_report_options(int argc, const char* const* argv);
std::string report_help();

}  // namespace wq::programs::status

// A run in 40 lines, for the end of a batch job's output file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "views/report/reported_run.h"

namespace wq::views::report {

inline constexpr std::size_t most_lines = 40;
inline constexpr std::size_t most_columns = 100;

// At most most_lines lines of at most most_columns bytes, each with a newline. Names are safe for a terminal.
std::string text_report(const ReportedRun& reported);

using Lines = std::vector<std::string>;

// A text of sections: an empty line between two of them, unless these would make it longer than `most` lines.
// Each line is cut at most_columns, and nothing in it controls a terminal.
std::string text_of_sections(const std::vector<Lines>& sections, std::size_t most = most_lines);

// The times of a run, in the time zone of this machine: "2026-11-30 16:32:15 to 16:52:40 (20m25s)".
std::string when_of(const ReportedRun& reported);

}  // namespace wq::views::report

// Draws the plots of a run and writes its report at its end, using the commands that users have.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "programs/run/run_options.h"
#include "views/plot_script.h"

namespace wq::programs::run {

// Whether a run of so many seconds gets plots and a report.
bool are_wanted(Plots when, double run_seconds);

// Runs work_queue_report, from the folder of this program. Returns RUN_DIR/report.html; "": the command is
// missing or failed.
std::string write_report(const std::string& run_directory);

// Runs work_queue_graph_log, from the folder of this program, on RUN_DIR/stats.h5. Returns the files drawn,
// in RUN_DIR/plots. Draws nothing if work_queue_graph_log or gnuplot is missing.
std::vector<std::string> draw_plots(const std::string& run_directory);

// Draws plots with gnuplot.

// Runs `program`, a gnuplot, and waits for its end. Errors: usage, not_allowed (a file cannot be written),
// unreachable (no such program), internal (it failed; the message is its first error, in one line).
Status draw_with_gnuplot(const std::string& program, const views::PlotStyle& style,
                         const views::Plots& plots);

}  // namespace wq::programs::run

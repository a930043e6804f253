// Draws the plots of a run at its end, using the command that users have.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "programs/run/run_options.h"
#include "views/plot_script.h"

namespace wq::programs::run {

// Runs work_queue_graph_log, from the folder of this program, on RUN_DIR/stats.h5. Returns the files drawn,
// in RUN_DIR/plots. Draws nothing if `when` forbids it, or if work_queue_graph_log or gnuplot is missing.
std::vector<std::string> draw_plots(Plots when, const std::string& run_directory, double run_seconds);

// Draws plots with gnuplot.

// Runs `program`, a gnuplot, and waits for its end. Errors: usage, not_allowed (a file cannot be written),
// unreachable (no such program), internal (it failed; the message is its first error, in one line).
Status draw_with_gnuplot(const std::string& program, const views::PlotStyle& style,
                         const views::Plots& plots);

}  // namespace wq::programs::run

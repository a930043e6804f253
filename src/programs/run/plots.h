// Draws the plots of a run at its end, using the command that users have.
#pragma once

#include <string>
#include <vector>

#include "programs/run/run_options.h"

namespace wq::programs::run {

// Runs work_queue_graph_log, from the folder of this program, on RUN_DIR/stats.h5. Returns the files drawn,
// in RUN_DIR/plots. Draws nothing if `when` forbids it, or if work_queue_graph_log or gnuplot is missing.
std::vector<std::string> draw_plots(Plots when, const std::string& run_directory, double run_seconds);

}  // namespace wq::programs::run

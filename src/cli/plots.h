// Draws the plots of a run at its end, with the same command that users have.
#pragma once

#include <string>
#include <vector>

#include "cli/run_options.h"

namespace wq::cli {

// Runs work_queue_graph_log, which stands beside this program, on RUN_DIR/stats.h5 and returns the files
// drawn, in RUN_DIR/plots. None where `when` says so, or where neither it nor gnuplot is there.
std::vector<std::string> draw_plots(Plots when, const std::string& run_directory, double run_seconds);

}  // namespace wq::cli

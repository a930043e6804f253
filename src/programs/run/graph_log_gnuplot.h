// Draws plots with gnuplot.
#pragma once

#include <string>

#include "base/result.h"
#include "views/plot_script.h"

namespace wq::programs::run {

// Runs `program`, a gnuplot, and waits for its end. Errors: usage, not_allowed (a file cannot be written),
// unreachable (no such program), internal (it failed; the message is its first error, in one line).
Status draw_with_gnuplot(const std::string& program, const views::PlotStyle& style,
                         const views::Plots& plots);

}  // namespace wq::programs::run

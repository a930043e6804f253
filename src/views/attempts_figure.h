// Attempts as a figure for gnuplot.
#pragma once

#include <optional>

#include "views/attempts.h"
#include "views/plot_figures.h"

namespace wq::views {

// The name is "attempts", "slots" or "attempts_by_worker". `start`: 0 of the time axis; `range` and `unit` as
// for make_plots(). Of more rows than the picture has lines, several share a line, each category with its
// part of it.
Figure attempts_figure(const Attempts& all, RowOrder order, WallMicros start, std::optional<TimeUnit> unit,
                       const std::optional<PlotRange>& range);

}  // namespace wq::views

// Attempts as a figure for gnuplot.
#pragma once

#include <optional>

#include "records/hdf5/plot_figures.h"
#include "views/attempts.h"
#include "views/attempts_page.h"

namespace wq::views {

// The name is "attempts", "slots" or "attempts_by_worker". `start`: 0 of the time axis; `range` and `unit` as
// for make_plots(). Of more rows than the picture has lines, several share a line, each category with its
// part of it.
records::hdf5::Figure attempts_figure(const Attempts& all, Order order, WallMicros start,
                                      std::optional<records::hdf5::TimeUnit> unit,
                                      const std::optional<records::hdf5::PlotRange>& range);

}  // namespace wq::views

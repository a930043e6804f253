// The figures of a SliceQueue: what is left, and how much each rank has taken.
#pragma once

#include <optional>
#include <span>

#include "records/hdf5/schema.h"
#include "views/plot_figures.h"

namespace wq::views {

// As make_plots(). Figures: slices, ranks (each of up to 8; of more, the fastest, the median and the slowest
// at each sample, of those that are there), waiting.
Plots make_slice_plots(std::span<const records::hdf5::SliceQueueRow> samples,
                       std::span<const records::hdf5::SliceRankRow> ranks, std::optional<TimeUnit> unit,
                       const std::optional<PlotRange>& range, std::size_t most_samples = 1600);

}  // namespace wq::views

// Which rows of a time series are drawn, and where on the axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "views/plot_figures.h"

namespace wq::views {

// Chooses a unit in which the run's length has about two digits.
TimeUnit unit_of(double micros);

template <class Row>
struct TimeAxis {
    TimeUnit unit = TimeUnit::seconds;
    std::vector<const Row*> rows;
    std::vector<double> x;  // of each
};

// Rows in `range`; more than `most` are thinned out evenly, keeping the last one. `unit`: if unset, chosen by
// the length of the run. Times in a damaged file may differ by more than an integer holds; other differences
// are exact as doubles.
template <class Row>
TimeAxis<Row> time_axis(std::span<const Row> rows, std::int64_t start, std::optional<TimeUnit> unit,
                        const std::optional<PlotRange>& range, std::size_t most) {
    TimeAxis<Row> axis;
    if (rows.empty()) return axis;
    const auto since_start = [start](const Row& row) {
        return static_cast<double>(row.timestamp) - static_cast<double>(start);
    };
    axis.unit = unit ? *unit : unit_of(since_start(rows.back()));
    const auto x_of = [&](const Row& row) { return since_start(row) / micros_per(axis.unit); };
    std::vector<const Row*> within;
    for (const Row& row : rows)
        if (const double x = x_of(row); !range || (x >= range->min && (!range->max || x <= *range->max)))
            within.push_back(&row);
    const std::size_t kept = within.size() < most ? within.size() : most;
    for (std::size_t n = 1; n <= kept; ++n) axis.rows.push_back(within[n * within.size() / kept - 1]);
    for (const Row* row : axis.rows) axis.x.push_back(x_of(*row));
    return axis;
}

}  // namespace wq::views

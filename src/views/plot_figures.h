// Colours that colour-blind readers can distinguish (after Okabe and Ito).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "records/hdf5/schema.h"

namespace wq::views {

inline constexpr const char* blue = "#0072B2";
inline constexpr const char* sky = "#56B4E9";
inline constexpr const char* green = "#009E73";
inline constexpr const char* orange = "#E69F00";
inline constexpr const char* red = "#D55E00";
inline constexpr const char* pink = "#CC79A7";
inline constexpr const char* grey = "#7F7F7F";
inline constexpr const char* black = "#222222";

// Of categories, in this order.
inline constexpr std::array category_colors{blue, orange, green, pink, sky, red};

// "#rrggbb" for colour-blind readers; of many categories, some have the same colour.
std::string category_color(std::size_t category);

// The figures of a run: its time series, and what its tasks and nodes did. Pure values; plot_script.h turns
// them into gnuplot text.
enum class Scale { linear, log };

struct Curve {
    std::string title;
    std::string color;    // #rrggbb
    bool is_step = true;  // constant until the next sample; false: changes continuously
    double width = 2;
    std::vector<double> values;  // one per sample; of a pause NaN
};

// Boxes from `low` to `high` above each `left` to `right`.
struct Bars {
    std::string title;
    std::string color;
    struct Bar {
        double left, right, low, high;
    };
    std::vector<Bar> bars;
};

struct Figure {
    std::string name;  // "tasks"; part of the file name
    std::string title;
    std::string y_label;        // with unit
    bool is_count = false;      // whole numbers
    std::vector<Curve> curves;  // curves that are always 0 are omitted
    // Of figures that do not show the time:
    std::string x_label{};
    std::vector<double> x{};           // of the curves' values
    std::vector<Bars> bars{};          // later ones before earlier ones
    std::vector<std::string> ticks{};  // names of 0, 1, 2 ...; none: numbers
    // Of figures whose bars are rows, from 0 at the top: names of the rows; none: numbers.
    bool has_rows = false;
    std::vector<std::string> row_names{};
    bool x_is_log = false;

    bool over_time() const { return x_label.empty(); }
    bool empty() const { return curves.empty() && bars.empty(); }
};

enum class TimeUnit : char { seconds = 's', minutes = 'm', hours = 'h', days = 'd' };

struct PlotRange {
    double min = 0;
    std::optional<double> max;  // in the unit, since the start of the run
};

struct Plots {
    TimeUnit unit = TimeUnit::seconds;
    std::vector<double> x;        // per sample, in the unit, since the start of the run; NaN: a pause of it
    std::vector<Figure> figures;  // tasks, workers, cores, time, transfer
};

// The samples of a resumed run continue those of its earlier sessions. `unit`: if unset, chosen by the length
// of the run. More than `most_samples` are thinned out evenly, keeping the last one.
Plots make_plots(std::span<const records::hdf5::ManagerRow> samples, std::optional<TimeUnit> unit,
                 std::optional<PlotRange> range, std::size_t most_samples = 1600);

// 0 of the time axis; there is at least one row.
std::int64_t start_of(std::span<const records::hdf5::ManagerRow> rows);

// Removes figures that show nothing.
void drop_empty_figures(Plots& plots);

const char* name_of(TimeUnit unit);  // "seconds"
double micros_per(TimeUnit unit);

// Which rows of a time series are drawn, and where on the axis.

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

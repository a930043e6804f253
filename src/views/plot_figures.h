// Colours that colour-blind readers can distinguish (after Okabe and Ito).
#pragma once

#include <array>
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

}  // namespace wq::views

// The figures of a run: its time series as a few lines each. Pure values; plot_script.h turns them into
// gnuplot text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/schema.h"

namespace wq::stats {

enum class Scale { linear, log };

struct Curve {
    std::string title;
    std::string color;    // #rrggbb
    bool is_step = true;  // holds until the next sample; else it moves all the time
    double width = 2;
    std::vector<double> values;  // one per sample
};

struct Figure {
    std::string name;  // "tasks": part of the file's name
    std::string title;
    std::string y_label;        // with unit
    bool is_count = false;      // whole numbers
    std::vector<Curve> curves;  // those that are 0 throughout are left out
};

enum class TimeUnit : char { seconds = 's', minutes = 'm', hours = 'h', days = 'd' };

struct PlotRange {
    double min = 0;
    std::optional<double> max;  // in the unit, since the start of the run
};

struct Plots {
    TimeUnit unit = TimeUnit::seconds;
    std::vector<double> x;        // per sample, in the unit, since the start of the run
    std::vector<Figure> figures;  // tasks, workers, cores, time, transfer
};

// `unit`: unset, it is chosen by the length of the run. More than `most_samples` are thinned out evenly; the
// last stays.
Plots make_plots(std::span<const ManagerRow> rows, std::optional<TimeUnit> unit,
                 std::optional<PlotRange> range, std::size_t most_samples = 1600);

// Leaves out the figures in which nothing is shown.
void drop_empty_figures(Plots& plots);

const char* name_of(TimeUnit unit);  // "seconds"
double micros_per(TimeUnit unit);

}  // namespace wq::stats

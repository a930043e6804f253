#include "views/plot_figures.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

namespace wq::views {

namespace {

struct Line {
    std::int64_t records::hdf5::ManagerRow::*field;
    const char* title;
    const char* color;
    bool is_step;
    double width = 2;  // wider than a narrow line above it, which often has the same values
};

constexpr std::array task_lines{
    Line{&records::hdf5::ManagerRow::tasks_waiting, "waiting", orange, false},
    Line{&records::hdf5::ManagerRow::tasks_on_workers, "dispatched", sky, true, 4.5},
    Line{&records::hdf5::ManagerRow::tasks_running, "running", blue, true},
    Line{&records::hdf5::ManagerRow::tasks_with_results, "to be recorded", pink, true},
    Line{&records::hdf5::ManagerRow::tasks_done, "ended", green, false},
    Line{&records::hdf5::ManagerRow::tasks_failed, "failed", red, false},
    Line{&records::hdf5::ManagerRow::tasks_cancelled, "cancelled", grey, false},
};

constexpr std::array worker_lines{
    Line{&records::hdf5::ManagerRow::workers_connected, "connected", sky, true, 4.5},
    Line{&records::hdf5::ManagerRow::workers_busy, "busy", green, true},
    Line{&records::hdf5::ManagerRow::workers_idle, "idle", orange, true},
    Line{&records::hdf5::ManagerRow::workers_init, "starting", pink, true},
    Line{&records::hdf5::ManagerRow::workers_removed, "left (total)", grey, true},
    Line{&records::hdf5::ManagerRow::workers_lost, "lost (total)", red, true},
    Line{&records::hdf5::ManagerRow::workers_wanted, "wanted", black, true},
    Line{&records::hdf5::ManagerRow::workers_pending, "pending jobs", blue, true},
};

constexpr std::array core_lines{
    Line{&records::hdf5::ManagerRow::total_cores, "all workers", sky, true, 4.5},
    Line{&records::hdf5::ManagerRow::committed_cores, "allocated to tasks", green, true},
};

constexpr std::array time_lines{
    Line{&records::hdf5::ManagerRow::time_execute, "workers: executing", grey, false, 4.5},
    Line{&records::hdf5::ManagerRow::time_execute_good, "workers: succeeded", green, false},
    Line{&records::hdf5::ManagerRow::time_polling, "manager: waiting", black, false},
    Line{&records::hdf5::ManagerRow::time_internal, "manager: internal", orange, false},
    Line{&records::hdf5::ManagerRow::time_send, "manager: sending", blue, false},
    Line{&records::hdf5::ManagerRow::time_receive, "manager: receiving", sky, false},
    Line{&records::hdf5::ManagerRow::time_status_msgs, "manager: status", pink, false},
    Line{&records::hdf5::ManagerRow::time_application, "manager: application", red, false},
};

constexpr std::array transfer_lines{
    Line{&records::hdf5::ManagerRow::bytes_sent, "sent", blue, false},
    Line{&records::hdf5::ManagerRow::bytes_received, "received", orange, false},
};

// The largest unit in which the maximum is at least `least`.
struct ValueUnit {
    double size;
    const char* name;
};

template <std::size_t N>
ValueUnit unit_for(double greatest, const std::array<ValueUnit, N>& units, double least) {
    ValueUnit best = units.front();
    for (const ValueUnit& unit : units) {
        if (greatest >= least * unit.size) best = unit;
    }
    return best;
}

constexpr std::array time_units{ValueUnit{1e3, "milliseconds"}, ValueUnit{1e6, "seconds"},
                                ValueUnit{60e6, "minutes"}, ValueUnit{3600e6, "hours"},
                                ValueUnit{86400e6, "days"}};
constexpr std::array byte_units{ValueUnit{1, "bytes"}, ValueUnit{1024, "KiB"}, ValueUnit{1048576, "MiB"},
                                ValueUnit{1073741824, "GiB"}, ValueUnit{1099511627776, "TiB"}};

using Rows =
    std::vector<const records::hdf5::ManagerRow*>;  // nullptr: the pause between two sessions of a run
constexpr double pause = std::numeric_limits<double>::quiet_NaN();

template <std::size_t N>
double greatest_of(const Rows& rows, const std::array<Line, N>& lines) {
    std::int64_t greatest = 0;
    for (const records::hdf5::ManagerRow* row : rows) {
        if (row == nullptr) continue;
        for (const Line& line : lines) greatest = std::max(greatest, row->*line.field);
    }
    return static_cast<double>(greatest);
}

template <std::size_t N>
Figure figure(const char* name, const char* title, const std::string& y_label, const Rows& rows,
              const std::array<Line, N>& lines, double unit) {
    Figure figure{name, title, y_label, false, {}};
    for (const Line& line : lines) {
        Curve curve{line.title, line.color, line.is_step, line.width, {}};
        curve.values.reserve(rows.size());
        bool is_zero = true;
        for (const records::hdf5::ManagerRow* row : rows) {
            is_zero = is_zero && (row == nullptr || row->*line.field == 0);
            curve.values.push_back(row == nullptr ? pause : static_cast<double>(row->*line.field) / unit);
        }
        if (!is_zero) figure.curves.push_back(std::move(curve));
    }
    return figure;
}

// What each session of the run counts anew.
constexpr std::array counted_anew{&records::hdf5::ManagerRow::workers_removed,
                                  &records::hdf5::ManagerRow::workers_lost};

// A damaged log may hold any numbers, so the sum may wrap around.
void add(records::hdf5::ManagerRow& row, std::int64_t records::hdf5::ManagerRow::*field,
         const records::hdf5::ManagerRow& to) {
    row.*field = static_cast<std::int64_t>(static_cast<std::uint64_t>(row.*field) +
                                           static_cast<std::uint64_t>(to.*field));
}

// Each session of a run counts from 0, so its totals are added to those of the earlier ones.
std::vector<records::hdf5::ManagerRow> continued(std::span<const records::hdf5::ManagerRow> rows) {
    std::vector<records::hdf5::ManagerRow> joined;
    joined.reserve(rows.size());
    records::hdf5::ManagerRow before;  // totals of the earlier sessions
    for (const records::hdf5::ManagerRow& row : rows) {
        if (!joined.empty() && row.time_when_started != joined.back().time_when_started)
            before = joined.back();
        joined.push_back(row);
        for (const auto field : counted_anew) add(joined.back(), field, before);
        for (const Line& line : time_lines) add(joined.back(), line.field, before);
        for (const Line& line : transfer_lines) add(joined.back(), line.field, before);
    }
    return joined;
}

// No line is drawn from the end of a session to the start of the next.
void add_pauses(TimeAxis<records::hdf5::ManagerRow>& axis) {
    for (std::size_t i = 1; i < axis.rows.size(); ++i) {
        if (axis.rows[i]->time_when_started == axis.rows[i - 1]->time_when_started) continue;
        const auto at = static_cast<std::ptrdiff_t>(i++);
        axis.rows.insert(axis.rows.begin() + at, nullptr);
        axis.x.insert(axis.x.begin() + at, pause);
    }
}

}  // namespace

std::string category_color(std::size_t category) {
    constexpr std::array<double, 3> to_white{0, -0.35, 0.45};  // less than 0: to black
    const std::string base = category_colors[category % category_colors.size()];
    const double part = to_white[category / category_colors.size() % to_white.size()];
    std::string out = "#";
    for (std::size_t i = 0; i < 3; ++i) {
        const auto value = static_cast<double>(std::strtol(base.substr(1 + 2 * i, 2).c_str(), nullptr, 16));
        char text[8];
        std::snprintf(
            text, sizeof text, "%02x",
            static_cast<unsigned>(part < 0 ? value * (1 + part) : value + (255 - value) * part) & 255U);
        out += text;
    }
    return out;
}

std::int64_t start_of(std::span<const records::hdf5::ManagerRow> rows) {
    const std::int64_t first = rows.front().timestamp;
    const std::int64_t started = rows.front().time_when_started;
    return started > 0 && started <= first ? started : first;
}

const char* name_of(TimeUnit unit) {
    switch (unit) {
        case TimeUnit::seconds:
            return "seconds";
        case TimeUnit::minutes:
            return "minutes";
        case TimeUnit::hours:
            return "hours";
        case TimeUnit::days:
            return "days";
    }
    return "";
}

double micros_per(TimeUnit unit) {
    switch (unit) {
        case TimeUnit::seconds:
            return 1e6;
        case TimeUnit::minutes:
            return 60e6;
        case TimeUnit::hours:
            return 3600e6;
        case TimeUnit::days:
            return 86400e6;
    }
    return 1;
}

TimeUnit unit_of(double micros) {
    constexpr std::array units{TimeUnit::days, TimeUnit::hours, TimeUnit::minutes};
    for (const TimeUnit unit : units) {
        if (micros >= 3 * micros_per(unit)) return unit;
    }
    return TimeUnit::seconds;
}

Plots make_plots(std::span<const records::hdf5::ManagerRow> samples, std::optional<TimeUnit> unit,
                 std::optional<PlotRange> range, std::size_t most_samples) {
    Plots plots;
    const std::vector<records::hdf5::ManagerRow> rows = continued(samples);
    const std::int64_t start = rows.empty() ? 0 : start_of(rows);
    auto axis = time_axis(std::span<const records::hdf5::ManagerRow>(rows), start, unit, range, most_samples);
    add_pauses(axis);
    plots.unit = axis.unit;
    plots.x = std::move(axis.x);
    const Rows& chosen = axis.rows;
    plots.figures.push_back(figure("tasks", "Tasks", "tasks", chosen, task_lines, 1));
    plots.figures.back().is_count = true;
    plots.figures.push_back(figure("workers", "Workers", "workers", chosen, worker_lines, 1));
    plots.figures.back().is_count = true;
    plots.figures.push_back(figure("cores", "Cores", "cores", chosen, core_lines, 1));
    plots.figures.back().is_count = true;
    const ValueUnit time = unit_for(greatest_of(chosen, time_lines), time_units, 3);
    plots.figures.push_back(figure("time", "Time spent (cumulative)", std::string("time (") + time.name + ")",
                                   chosen, time_lines, time.size));
    const ValueUnit bytes = unit_for(greatest_of(chosen, transfer_lines), byte_units, 10);
    plots.figures.push_back(figure("transfer", "Data between manager and workers (cumulative)",
                                   std::string("data (") + bytes.name + ")", chosen, transfer_lines,
                                   bytes.size));
    return plots;
}

void drop_empty_figures(Plots& plots) {
    std::erase_if(plots.figures, [](const Figure& figure) { return figure.empty(); });
}

}  // namespace wq::views

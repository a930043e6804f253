#include "views/slice_figures.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "views/plot_figures.h"
#include "views/time_axis.h"

namespace wq::views {

namespace {

constexpr std::array rank_colors{blue, orange, green, red, sky, pink, grey, black};

using Samples = std::vector<const records::hdf5::SliceQueueRow*>;

template <class Value>
Curve curve(const char* title, const char* color, bool is_step, const Samples& samples, Value value) {
    Curve curve{title, color, is_step, 2, {}};
    for (const records::hdf5::SliceQueueRow* row : samples)
        curve.values.push_back(static_cast<double>(value(*row)));
    return curve;
}

// Curves that are always 0 are omitted.
void add(Figure& figure, Curve curve) {
    if (std::any_of(curve.values.begin(), curve.values.end(), [](double value) { return value != 0; }))
        figure.curves.push_back(std::move(curve));
}

Figure slices_figure(const Samples& samples) {
    Figure figure{"slices", "Slices of all epochs", "slices", true, {}};
    add(figure, curve("left to give", orange, false, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.left; }));
    add(figure,
        curve("given, not committed", blue, false, samples, [](const records::hdf5::SliceQueueRow& row) {
            return row.positions - row.left - row.committed;
        }));
    add(figure, curve("committed", green, false, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.committed; }));
    add(figure, curve("given again (total)", red, true, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.given_again; }));
    return figure;
}

Figure waiting_figure(const Samples& samples) {
    Figure figure{"waiting", "Ranks", "ranks", true, {}};
    add(figure,
        curve("here", sky, true, samples, [](const records::hdf5::SliceQueueRow& row) { return row.ranks; }));
    add(figure, curve("waiting", orange, true, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.waiting; }));
    add(figure, curve("stragglers", pink, true, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.stragglers; }));
    add(figure, curve("lost (total)", red, true, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.lost_ranks; }));
    return figure;
}

// By the sample's time: what each rank had taken.
using Taken = std::map<std::int64_t, std::map<std::uint32_t, const records::hdf5::SliceRankRow*>>;

double taken_by(const Taken& taken, std::int64_t when, std::uint32_t rank) {
    const auto sample = taken.find(when);
    if (sample == taken.end()) return 0;
    const auto found = sample->second.find(rank);
    return found == sample->second.end() ? 0 : static_cast<double>(found->second->taken);
}

// Of `of` parts, the `part`th: 0 is the least.
double quantile(const Taken& taken, std::int64_t when, std::size_t part, std::size_t of) {
    std::vector<double> here;
    if (const auto sample = taken.find(when); sample != taken.end())
        for (const auto& [rank, row] : sample->second)
            if (row->is_here != 0) here.push_back(static_cast<double>(row->taken));
    if (here.empty()) return 0;
    std::sort(here.begin(), here.end());
    return here[(here.size() - 1) * part / of];
}

Figure ranks_figure(const Samples& samples, std::span<const records::hdf5::SliceRankRow> rows) {
    Figure figure{"ranks", "Slices taken by each rank", "slices", true, {}};
    Taken taken;
    std::set<std::uint32_t> ranks;
    for (const records::hdf5::SliceRankRow& row : rows) {
        taken[row.timestamp][row.rank] = &row;
        ranks.insert(row.rank);
    }
    const auto add_curve = [&](const std::string& title, const char* color, auto value) {
        add(figure, curve(title.c_str(), color, false, samples,
                          [&](const records::hdf5::SliceQueueRow& row) { return value(row.timestamp); }));
    };
    if (ranks.size() <= rank_colors.size()) {
        for (std::size_t n = 0; const std::uint32_t rank : ranks)
            add_curve("rank " + std::to_string(rank), rank_colors[n++],
                      [&](std::int64_t when) { return taken_by(taken, when, rank); });
        return figure;
    }
    add_curve("fastest", green, [&](std::int64_t when) { return quantile(taken, when, 1, 1); });
    add_curve("median", blue, [&](std::int64_t when) { return quantile(taken, when, 1, 2); });
    add_curve("slowest", red, [&](std::int64_t when) { return quantile(taken, when, 0, 1); });
    return figure;
}

}  // namespace

Plots make_slice_plots(std::span<const records::hdf5::SliceQueueRow> samples,
                       std::span<const records::hdf5::SliceRankRow> ranks, std::optional<TimeUnit> unit,
                       const std::optional<PlotRange>& range, std::size_t most_samples) {
    Plots plots;
    if (samples.empty()) return plots;
    const std::int64_t first = samples.front().timestamp;
    const std::int64_t started = samples.front().time_when_started;
    auto axis =
        time_axis(samples, started > 0 && started <= first ? started : first, unit, range, most_samples);
    plots.unit = axis.unit;
    plots.x = std::move(axis.x);
    plots.figures = {slices_figure(axis.rows), ranks_figure(axis.rows, ranks), waiting_figure(axis.rows)};
    return plots;
}

}  // namespace wq::views

#include "views/run_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "engine/model/outcome.h"

namespace wq::views {

namespace {

constexpr std::size_t most_nodes = 40;
constexpr std::size_t most_points = 1600;
constexpr int most_bins = 40;

struct Unit {
    double size;
    const char* name;
};
constexpr std::array units_of_seconds{Unit{1e-3, "milliseconds"}, Unit{1, "seconds"}, Unit{60, "minutes"},
                                      Unit{3600, "hours"}};
constexpr std::array units_of_mb{Unit{1, "MB"}, Unit{1024, "GB"}};

template <std::size_t N>
Unit unit_for(double greatest, const std::array<Unit, N>& units) {
    Unit best = units.front();
    for (const Unit& unit : units)
        if (greatest >= 3 * unit.size) best = unit;
    return best;
}

// Up to most_points of `count` places, evenly, with the first and the last.
std::vector<std::size_t> thinned(std::size_t count) {
    std::vector<std::size_t> places(std::min(count, most_points));
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = places.size() == 1 ? 0 : i * (count - 1) / (places.size() - 1);
    return places;
}

}  // namespace

TaskFigures::TaskFigures(WorkerRows workers, std::span<const records::hdf5::CategoryRow> categories)
    : workers_(std::move(workers)), of_worker_(workers_.workers().size()) {
    for (const records::hdf5::CategoryRow& row : categories) categories_[row.category] = row.name.view();
}

void TaskFigures::add(const records::hdf5::TaskRow& task) {
    if (task.started <= 0 || task.wall < 0) return;
    const auto calls = std::max<std::uint32_t>(task.calls, 1);
    ran_.push_back({static_cast<double>(task.wall) / calls / 1e6, calls,
                    task.ending == engine::model::Ending::exited && task.exit_code == 0, task.category});
    const double used = task.memory_peak >= 0 ? static_cast<double>(task.memory_peak)
                                              : static_cast<double>(task.peak_memory) / 1024;
    memory_.push_back({used, static_cast<double>(task.given_memory)});
    const auto place = workers_.place_of(task.worker, task.received);
    if (!place) return;
    of_worker_[*place].first += task.given_cores * static_cast<double>(task.wall);
    of_worker_[*place].second += static_cast<double>(task.user + task.system);
}

std::vector<Figure> TaskFigures::figures() const {
    std::vector<Figure> all{run_times(), run_times_by_category(), nodes(), memory()};
    std::erase_if(all, [](const Figure& figure) { return figure.empty(); });
    return all;
}

// Of durations. They are even, or even on a logarithmic axis if times differ much.
class TaskFigures::Bins {
  public:
    explicit Bins(std::span<const Ran> all) : low_(time_of(all.front())), high_(low_) {
        constexpr double differ_much = 20;
        for (const Ran& ran : all) low_ = std::min(low_, time_of(ran)), high_ = std::max(high_, time_of(ran));
        is_log_ = high_ > differ_much * low_;
        if (!is_log_) low_ = 0;
        if (high_ <= low_) high_ = low_ + 1;
        unit_ = unit_for(high_, units_of_seconds);
    }

    // Attempts of the `classes`, stacked. Those that have none are omitted.
    void fill(Figure& figure, std::span<const Ran> all, std::vector<Bars> classes,
              const std::function<std::size_t(const Ran&)>& class_of) const {
        std::vector<std::array<double, most_bins>> counts(classes.size());
        for (const Ran& ran : all) counts[class_of(ran)][bin_of(ran)] += ran.calls;
        for (int bin = 0; bin < most_bins; ++bin) {
            double low = 0;
            for (std::size_t i = 0; i < classes.size(); ++i) {
                const double high = low + counts[i][static_cast<std::size_t>(bin)];
                if (high > low) classes[i].bars.push_back({edge(bin), edge(bin + 1), low, high});
                low = high;
            }
        }
        std::erase_if(classes, [](const Bars& bars) { return bars.bars.empty(); });
        figure.bars = std::move(classes);
        figure.x_is_log = is_log_;
        figure.x_label = std::string("run time (") + unit_.name + ")";
    }

  private:
    static constexpr double shortest = 1e-4;
    static double time_of(const Ran& ran) { return std::max(ran.seconds, shortest); }
    double ratio() const { return high_ / std::max(low_, shortest); }
    double edge(int bin) const {
        const double part = static_cast<double>(bin) / most_bins;
        return (is_log_ ? low_ * std::pow(ratio(), part) : low_ + (high_ - low_) * part) / unit_.size;
    }
    std::size_t bin_of(const Ran& ran) const {
        const double time = time_of(ran);
        const double part =
            is_log_ ? std::log(time / low_) / std::log(ratio()) : (time - low_) / (high_ - low_);
        return static_cast<std::size_t>(std::clamp(static_cast<int>(part * most_bins), 0, most_bins - 1));
    }

    double low_, high_;
    bool is_log_ = false;
    Unit unit_{};
};

Figure TaskFigures::run_times() const {
    Figure figure{"durations", "Run times of attempts", "attempts", true, {}};
    if (ran_.empty()) return figure;
    Bins(ran_).fill(figure, ran_, {{"succeeded", green, {}}, {"did not succeed", red, {}}},
                    [](const Ran& ran) { return ran.succeeded ? std::size_t{0} : std::size_t{1}; });
    return figure;
}

// Nothing of a single category: it is the same as run_times(). Of many, the small ones share a colour.
Figure TaskFigures::run_times_by_category() const {
    Figure figure{"categories", "Run times of attempts by category", "attempts", true, {}};
    std::map<std::uint32_t, std::uint64_t> sizes;
    for (const Ran& ran : ran_) sizes[ran.category] += ran.calls;
    if (sizes.size() < 2) return figure;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted;
    for (const auto& [category, size] : sizes) sorted.emplace_back(size, category);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return std::pair(b.first, a.second) < std::pair(a.first, b.second);
    });
    std::vector<Bars> classes;
    std::unordered_map<std::uint32_t, std::size_t> class_of;
    for (const auto& [size, category] : sorted) {
        class_of[category] = std::min(classes.size(), category_colors.size());
        if (classes.size() > category_colors.size()) continue;
        const auto name = categories_.find(category);
        classes.push_back({name != categories_.end() ? name->second : "unknown", "", {}});
    }
    if (classes.size() > category_colors.size()) {
        const std::size_t others = sizes.size() - category_colors.size();
        if (others > 1) classes.back().title = std::to_string(others) + " others";
        classes.back().color = grey;
    }
    for (std::size_t i = 0; i < std::min(classes.size(), category_colors.size()); ++i)
        classes[i].color = category_colors[i];
    Bins(ran_).fill(figure, ran_, std::move(classes),
                    [&](const Ran& ran) { return class_of.at(ran.category); });
    return figure;
}

// Of many nodes, some from the busiest to the least busy.
Figure TaskFigures::nodes() const {
    Figure figure{"nodes", "Use of the nodes' cores", "% of core time while connected", false, {}};
    std::map<std::string, Node> by_host;
    for (std::size_t place = 0; place < workers_.workers().size(); ++place) {
        const records::hdf5::WorkerRow& worker = workers_.workers()[place];
        Node& node = by_host[std::string(worker.host.view())];
        const auto there = static_cast<double>(std::max<std::int64_t>(worker.left - worker.joined, 0));
        node.offered += static_cast<double>(worker.cores) * there;
        node.allocated += of_worker_[place].first;
        node.cpu += of_worker_[place].second;
    }
    std::erase_if(by_host, [](const auto& entry) { return entry.second.offered <= 0; });
    std::vector<std::pair<std::string, Node>> sorted(by_host.begin(), by_host.end());
    if (sorted.empty()) return figure;
    if (sorted.size() > most_nodes) {
        std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
            return a.second.allocated / a.second.offered > b.second.allocated / b.second.offered;
        });
        std::vector<std::pair<std::string, Node>> some;
        for (std::size_t i = 0; i < most_nodes; ++i)
            some.push_back(sorted[i * (sorted.size() - 1) / (most_nodes - 1)]);
        figure.x_label = std::to_string(most_nodes) + " of " + std::to_string(sorted.size()) +
                         " nodes, from the busiest to the least busy";
        sorted = std::move(some);
    } else {
        figure.x_label = "node";
    }
    figure.bars = {{"allocated to tasks", sky, {}}, {"CPU used", green, {}}};
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const auto& [host, node] = sorted[i];
        const auto x = static_cast<double>(i);
        figure.ticks.push_back(host);
        figure.bars[0].bars.push_back({x - 0.38, x + 0.38, 0, 100 * node.allocated / node.offered});
        figure.bars[1].bars.push_back({x - 0.22, x + 0.22, 0, 100 * node.cpu / node.offered});
    }
    return figure;
}

Figure TaskFigures::memory() const {
    Figure figure{"memory", "Memory of attempts: allocated and used", "", false, {}};
    std::vector<Memory> sorted = memory_;
    std::sort(sorted.begin(), sorted.end(), [](const Memory& a, const Memory& b) {
        return std::pair(a.used_mb, a.allocated_mb) < std::pair(b.used_mb, b.allocated_mb);
    });
    double high = 0;
    for (const Memory& one : sorted) high = std::max({high, one.used_mb, one.allocated_mb});
    if (high <= 0) return figure;
    const Unit unit = unit_for(high, units_of_mb);
    figure.x_label = "attempts, from the least to the most memory used";
    figure.y_label = std::string("memory (") + unit.name + ")";
    Curve allocated{"allocated", sky, true, 4.5, {}};
    Curve used{"peak of use", green, true, 2, {}};
    for (const std::size_t place : thinned(sorted.size())) {
        figure.x.push_back(static_cast<double>(place + 1));
        allocated.values.push_back(sorted[place].allocated_mb / unit.size);
        used.values.push_back(sorted[place].used_mb / unit.size);
    }
    figure.curves = {std::move(allocated), std::move(used)};
    return figure;
}

namespace {

constexpr std::array rank_colors{blue, orange, green, red, sky, pink, grey, black};

using Samples = std::vector<const records::hdf5::SliceQueueRow*>;
enum class Stroke : std::uint8_t { straight, steps };

template <class Value>
Curve curve(const char* title, const char* color, Stroke stroke, const Samples& samples, Value value) {
    Curve curve{title, color, stroke == Stroke::steps, 2, {}};
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
    add(figure, curve("left to give", orange, Stroke::straight, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.left; }));
    add(figure, curve("given, not committed", blue, Stroke::straight, samples,
                      [](const records::hdf5::SliceQueueRow& row) {
                          return row.positions - row.left - row.committed;
                      }));
    add(figure, curve("committed", green, Stroke::straight, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.committed; }));
    add(figure, curve("given again (total)", red, Stroke::steps, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.given_again; }));
    return figure;
}

Figure waiting_figure(const Samples& samples) {
    Figure figure{"waiting", "Ranks", "ranks", true, {}};
    add(figure, curve("here", sky, Stroke::steps, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.ranks; }));
    add(figure, curve("waiting", orange, Stroke::steps, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.waiting; }));
    add(figure, curve("stragglers", pink, Stroke::steps, samples,
                      [](const records::hdf5::SliceQueueRow& row) { return row.stragglers; }));
    add(figure, curve("lost (total)", red, Stroke::steps, samples,
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
        add(figure, curve(title.c_str(), color, Stroke::straight, samples,
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

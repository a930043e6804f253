#include "stats/task_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string>

#include "core/outcome.h"
#include "stats/plot_colors.h"

namespace wq::stats {

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

TaskFigures::TaskFigures(std::vector<WorkerRow> workers, std::span<const ManagerRow> samples)
    : workers_(std::move(workers)), of_worker_(workers_.size()) {
    std::map<std::int64_t, std::int64_t> ends;  // of the runs of the directory, by their starts
    for (const ManagerRow& row : samples) ends[row.time_when_started] = row.timestamp;
    for (std::size_t place = 0; place < workers_.size(); ++place) {
        WorkerRow& worker = workers_[place];
        places_[worker.worker].push_back(place);
        const auto next = ends.upper_bound(worker.joined);
        if (worker.left <= 0 && next != ends.begin()) worker.left = std::prev(next)->second;
    }
}

void TaskFigures::add(const TaskRow& task) {
    if (task.started <= 0 || task.wall < 0) return;
    const auto calls = std::max<std::uint32_t>(task.calls, 1);
    const bool succeeded = task.ending == core::Ending::exited && task.exit_code == 0;
    ran_.push_back({static_cast<double>(task.wall) / calls / 1e6, calls, succeeded});
    const double used = task.memory_peak >= 0 ? static_cast<double>(task.memory_peak)
                                              : static_cast<double>(task.peak_memory) / 1024;
    memory_.push_back({used, static_cast<double>(task.given_memory)});
    // Ids begin anew with each run of a directory, so the last worker of that id that had joined is meant.
    const std::vector<std::size_t>& places = places_[task.worker];
    for (auto at = places.rbegin(); at != places.rend(); ++at) {
        const std::size_t place = *at;
        if (workers_[place].joined > task.received) continue;
        of_worker_[place].first += task.given_cores * static_cast<double>(task.wall);
        of_worker_[place].second += static_cast<double>(task.user + task.system);
        return;
    }
}

std::vector<Figure> TaskFigures::figures() const {
    std::vector<Figure> all{run_times(), nodes(), memory()};
    std::erase_if(all, [](const Figure& figure) { return figure.empty(); });
    return all;
}

// Bins are even, or even on a logarithmic axis if times differ much.
Figure TaskFigures::run_times() const {
    Figure figure{"durations", "Run times of attempts", "attempts", true, {}};
    if (ran_.empty()) return figure;
    constexpr double shortest = 1e-4;
    constexpr double differ_much = 20;
    const auto time_of = [&](const Ran& ran) { return std::max(ran.seconds, shortest); };
    double low = time_of(ran_.front());
    double high = low;
    for (const Ran& ran : ran_) low = std::min(low, time_of(ran)), high = std::max(high, time_of(ran));
    figure.x_is_log = high > differ_much * low;
    if (!figure.x_is_log) low = 0;
    if (high <= low) high = low + 1;
    const Unit unit = unit_for(high, units_of_seconds);
    figure.x_label = std::string("run time (") + unit.name + ")";
    const double ratio = high / std::max(low, shortest);
    const auto edge = [&](int bin) {
        const double part = static_cast<double>(bin) / most_bins;
        return (figure.x_is_log ? low * std::pow(ratio, part) : low + (high - low) * part) / unit.size;
    };
    std::array<std::array<double, most_bins>, 2> counts{};
    for (const Ran& ran : ran_) {
        const double time = time_of(ran);
        const double part =
            figure.x_is_log ? std::log(time / low) / std::log(ratio) : (time - low) / (high - low);
        const int bin = std::clamp(static_cast<int>(part * most_bins), 0, most_bins - 1);
        counts[ran.succeeded ? 0 : 1][static_cast<std::size_t>(bin)] += ran.calls;
    }
    figure.bars = {{"succeeded", green, {}}, {"did not succeed", red, {}}};
    for (int bin = 0; bin < most_bins; ++bin) {
        const double good = counts[0][static_cast<std::size_t>(bin)];
        const double bad = counts[1][static_cast<std::size_t>(bin)];
        if (good > 0) figure.bars[0].bars.push_back({edge(bin), edge(bin + 1), 0, good});
        if (bad > 0) figure.bars[1].bars.push_back({edge(bin), edge(bin + 1), good, good + bad});
    }
    std::erase_if(figure.bars, [](const Bars& bars) { return bars.bars.empty(); });
    return figure;
}

// Of many nodes, some from the busiest to the least busy.
Figure TaskFigures::nodes() const {
    Figure figure{"nodes", "Use of the nodes' cores", "% of core time while connected", false, {}};
    std::map<std::string, Node> by_host;
    for (std::size_t place = 0; place < workers_.size(); ++place) {
        const WorkerRow& worker = workers_[place];
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

}  // namespace wq::stats

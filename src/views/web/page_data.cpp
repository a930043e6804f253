#include "views/web/page_data.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "views/plot_figures.h"
#include "views/report/json_report.h"
#include "views/report/trace_file.h"
#include "views/web/columns.h"
#include "views/web/page_rows.h"

namespace wq::views::web {

namespace {

using model::RunAttempt;
using model::RunView;
using model::RunWorker;

template <class Rows, class Value>
void put_column(Json& columns, const char* name, const Rows& rows, Value value) {
    NumberColumn column;
    for (const auto& row : rows) column.add(static_cast<std::int64_t>(value(row)));
    columns[name] = column.base64();
}

// The time of a page: ticks since the run's begin. A tick is a power of ten of microseconds with which any
// time has at most 8 digits.
class PageClock {
  public:
    explicit PageClock(const RunView& run) : begin_(run.begin) {
        while ((run.end - begin_) / tick_ > 100'000'000) tick_ *= 10;
    }
    std::int64_t tick() const { return tick_; }
    std::int64_t at(WallMicros time) const { return std::max<WallMicros>(time - begin_, 0) / tick_; }
    std::int64_t between(WallMicros from, WallMicros to) const { return at(to) - at(from); }

  private:
    WallMicros begin_;
    std::int64_t tick_ = 1;
};

bool is_good(const RunAttempt& attempt) {
    return attempt.succeeded() || attempt.received == 0;
}

// Which of many attempts a page has, in the order of `lanes`.
std::vector<report::LaneEntry> chosen(const RunView& run, std::vector<report::LaneEntry> lanes) {
    if (lanes.size() <= most_bars) return lanes;
    constexpr std::size_t most_failed = most_bars / 4;
    constexpr std::size_t most_long = most_bars / 8;
    std::vector<std::int64_t> walls;
    for (const report::LaneEntry& entry : lanes) walls.push_back(run.attempts[entry.attempt].wall_us);
    std::nth_element(walls.begin(), walls.begin() + most_long, walls.end(), std::greater<>());
    const std::int64_t is_long = walls[most_long];
    const std::size_t every = lanes.size() / (most_bars / 2) + 1;
    std::size_t failed = 0, at = 0;
    std::erase_if(lanes, [&](const report::LaneEntry& entry) {
        const RunAttempt& attempt = run.attempts[entry.attempt];
        const bool stays =
            at++ % every == 0 || attempt.wall_us > is_long || (!is_good(attempt) && failed++ < most_failed);
        return !stays;
    });
    return lanes;
}

// Endings as texts, in the order of their first use.
class EndingNames {
  public:
    std::size_t place_of(const RunAttempt& attempt) {
        if (attempt.received == 0) return add("running");
        return add(attempt.succeeded() ? "succeeded" : report::describe(report::kind_of(attempt)));
    }
    const std::vector<std::string>& names() const { return names_; }

  private:
    std::size_t add(const std::string& name) {
        const auto found = std::find(names_.begin(), names_.end(), name);
        const auto place = static_cast<std::size_t>(found - names_.begin());
        if (found == names_.end()) names_.push_back(name);
        return place;
    }
    std::vector<std::string> names_;
};

Json attempts_of(const RunView& run, const std::vector<report::LaneEntry>& shown, const PageClock& clock,
                 const PageRows& categories, const PageRows& workers, Json& endings) {
    EndingNames names;
    Json columns = Json::object();
    const auto put = [&](const char* name, auto value) {
        put_column(columns, name, shown,
                   [&](const report::LaneEntry& entry) { return value(run.attempts[entry.attempt]); });
    };
    const auto stay = [&](const RunAttempt& one) { return report::time_span_of(run, one); };
    put("task", [](const RunAttempt& one) { return one.task; });
    put("line", [](const RunAttempt& one) { return one.line; });
    put("attempt", [](const RunAttempt& one) { return one.attempt; });
    put("calls", [](const RunAttempt& one) { return one.calls - 1; });
    put("category", [&](const RunAttempt& one) { return categories.row_of(one.category); });
    put("worker", [&](const RunAttempt& one) { return workers.row_of(one.worker); });
    put("ending", [&](const RunAttempt& one) { return names.place_of(one); });
    put("begin", [&](const RunAttempt& one) { return clock.at(stay(one).begin); });
    put("waited", [&](const RunAttempt& one) {
        const WallMicros since = one.ready != 0 ? one.ready : one.submitted;
        return since == 0 ? model::not_recorded : clock.between(since, std::max(since, stay(one).begin));
    });
    put("before", [&](const RunAttempt& one) {
        return one.started == 0 ? 0 : clock.between(stay(one).begin, std::max(one.started, stay(one).begin));
    });
    put("after", [&](const RunAttempt& one) {
        return one.ended == 0 ? 0 : clock.between(std::min(one.ended, stay(one).end), stay(one).end);
    });
    put("lasted", [&](const RunAttempt& one) { return clock.between(stay(one).begin, stay(one).end); });
    // Of an attempt of a lost worker, nobody knows how long its process ran.
    put("no_run_time", [](const RunAttempt& one) { return one.received != 0 && one.wall_us < 0 ? 1 : 0; });
    put("cores", [](const RunAttempt& one) { return one.cores; });
    put("cpu", [&](const RunAttempt& one) {
        return one.received == 0 || one.cpu_us < 0 ? model::not_recorded : one.cpu_us / clock.tick();
    });
    put("memory", [](const RunAttempt& one) { return one.memory_mb; });
    put("memory_peak", [](const RunAttempt& one) { return one.memory_peak_mb; });
    NumberColumn lanes;
    for (const report::LaneEntry& entry : shown) lanes.add(entry.lane);
    columns["lane"] = lanes.base64();
    endings = names.names();
    return columns;
}

// A row of the page for the workers that have none of their own.
RunWorker sum_of_others(const RunView& run, const PageRows& rows) {
    RunWorker sum;
    sum.address = std::to_string(rows.left_out()) + " other workers";
    sum.host = "hosts of other workers";
    sum.joined = run.end;
    sum.left = run.begin;
    bool has_left = true;
    for (std::uint32_t place = 0; place < run.workers.size(); ++place) {
        if (rows.row_of(place) != rows.others()) continue;
        const RunWorker& worker = run.workers[place];
        sum.joined = std::min(sum.joined, worker.joined);
        sum.left = std::max(sum.left, worker.left);
        has_left = has_left && worker.left != 0;
        sum.cores += worker.cores;
        sum.memory_mb += worker.memory_mb;
    }
    if (!has_left) sum.left = 0;
    return sum;
}

Json workers_of(const RunView& run, const std::vector<report::LaneEntry>& lanes, const PageRows& rows,
                const PageClock& clock) {
    std::vector<std::int64_t> count(rows.size());
    for (const report::LaneEntry& entry : lanes) {
        std::int64_t& most = count[rows.row_of(run.attempts[entry.attempt].worker)];
        most = std::max<std::int64_t>(most, entry.lane + 1);
    }
    const RunWorker sum = sum_of_others(run, rows);
    std::vector<const RunWorker*> shown;
    for (const std::uint32_t place : rows.shown()) shown.push_back(&run.workers[place]);
    if (rows.left_out() > 0) shown.push_back(&sum);
    Json names = Json::array(), hosts = Json::array(), why = Json::array();
    for (const RunWorker* worker : shown) {
        names.push_back(worker->address.empty() ? worker->host : worker->address);
        hosts.push_back(worker->host);
        why.push_back(worker->why_left);
    }
    Json columns = Json::object();
    const auto put = [&](const char* name, auto value) {
        put_column(columns, name, shown, [&](const RunWorker* one) { return value(*one); });
    };
    put("joined", [&](const RunWorker& one) { return clock.at(one.joined); });
    put("left", [&](const RunWorker& one) { return clock.at(one.left != 0 ? one.left : run.end); });
    put("is_there", [&](const RunWorker& one) { return one.left == 0 ? 1 : 0; });
    put("cores", [](const RunWorker& one) { return one.cores; });
    put("memory", [](const RunWorker& one) { return one.memory_mb; });
    put_column(columns, "lanes", count, [](std::int64_t lanes_of_worker) { return lanes_of_worker; });
    if (count.back() > 0) names.push_back("not known"), hosts.push_back(""), why.push_back("");
    return {{"names", std::move(names)},  {"hosts", std::move(hosts)},
            {"why_left", std::move(why)}, {"columns", std::move(columns)},
            {"of", run.workers.size()},   {"others", rows.left_out() > 0 ? Json(rows.others()) : Json()}};
}

// How many thousandths of its time each worker ran something, in equal parts of the run: row by row.
Json busy_of(const RunView& run, const std::vector<report::LaneEntry>& lanes, const PageRows& rows) {
    const std::size_t bins = std::clamp<std::size_t>(120'000 / rows.size(), 20, most_bins);
    const double width = std::max(static_cast<double>(run.end - run.begin), 1.0) / static_cast<double>(bins);
    std::vector<double> busy(rows.size() * bins);
    for (const report::LaneEntry& entry : lanes) {
        const RunAttempt& attempt = run.attempts[entry.attempt];
        const report::TimeSpan stay = report::time_span_of(run, attempt);
        double* const row = &busy[rows.row_of(attempt.worker) * bins];
        const double from = static_cast<double>(stay.begin - run.begin) / width;
        const double to = static_cast<double>(stay.end - run.begin) / width;
        const double cores = static_cast<double>(std::max<std::int64_t>(attempt.cores, 0)) / 1000;
        for (auto bin = static_cast<std::size_t>(std::max(from, 0.0)); bin < bins; ++bin) {
            const auto left = static_cast<double>(bin);
            if (left >= to) break;
            row[bin] += cores * (std::min(to, left + 1) - std::max(from, left));
        }
    }
    std::vector<double> cores(rows.size());
    for (std::uint32_t place = 0; place < run.workers.size(); ++place)
        cores[rows.row_of(place)] += static_cast<double>(std::max<std::int64_t>(run.workers[place].cores, 1));
    cores.back() = 1000;
    NumberColumn column;
    for (std::size_t row = 0; row < rows.size(); ++row)
        for (std::size_t bin = 0; bin < bins; ++bin)
            column.add(
                static_cast<std::int64_t>(std::min(1e6 * busy[row * bins + bin] / cores[row], 1000.0)));
    return {{"bins", bins}, {"share", column.base64()}};
}

Json series_of(const RunView& run, const PageClock& clock) {
    std::vector<const model::RunSample*> shown;
    const std::size_t every = run.samples.size() / most_points + 1;
    for (std::size_t n = 0; n < run.samples.size(); ++n)
        if (n % every == 0 || n + 1 == run.samples.size()) shown.push_back(&run.samples[n]);
    Json columns = Json::object();
    put_column(columns, "time", shown, [&](const model::RunSample* one) { return clock.at(one->time); });
    const auto put = [&](const char* name, auto field) {
        put_column(columns, name, shown, [&](const model::RunSample* one) { return one->stats.*field; });
    };
    using Stats = engine::model::ManagerStats;
    put("done", &Stats::tasks_done);
    put("failed", &Stats::tasks_failed);
    put("running", &Stats::tasks_running);
    put("waiting", &Stats::tasks_waiting);
    put("workers", &Stats::workers_connected);
    put("total_cores", &Stats::total_cores);
    put("committed_cores", &Stats::committed_cores);
    put("bytes_sent", &Stats::bytes_sent);
    put("bytes_received", &Stats::bytes_received);
    return {{"count", shown.size()}, {"columns", std::move(columns)}};
}

Json json_of(const model::RunAsk& ask) {
    return {{"cores", static_cast<double>(ask.needs.cores.thousandths()) / 1000},
            {"memory_mib", ask.needs.memory_mb},
            {"features", ask.features}};
}

// Those with most tasks.
Json left_of(const RunView& run, std::vector<model::RunWaiting> left) {
    constexpr std::size_t most_left = 1'000;
    std::stable_sort(left.begin(), left.end(),
                     [](const auto& a, const auto& b) { return a.tasks > b.tasks; });
    Json rows = Json::array();
    for (std::size_t n = 0; n < std::min(left.size(), most_left); ++n)
        rows.push_back({{"ask", left[n].ask < run.asks.size() ? json_of(run.asks[left[n].ask]) : Json()},
                        {"reason", static_cast<int>(left[n].reason)},
                        {"tasks", left[n].tasks}});
    return rows;
}

// Rows are changes of one ask and reason: none may be left out before the sums by reason are taken.
Json waiting_of(const RunView& run, const PageClock& clock) {
    using Counts = std::array<std::uint64_t, engine::model::wait_reason_count>;
    struct Point {
        WallMicros time = 0;
        Counts counts{};
    };
    std::map<std::pair<std::uint32_t, engine::model::WaitReason>, std::uint64_t> now;
    std::vector<Point> points;
    Counts sums{};
    const WallMicros apart = (run.end - run.begin) / static_cast<WallMicros>(most_points);
    for (const model::RunWaiting& row : run.waiting) {
        std::uint64_t& tasks = now[{row.ask, row.reason}];
        std::uint64_t& sum = sums[static_cast<std::size_t>(row.reason)];
        sum += row.tasks - std::exchange(tasks, row.tasks);
        if (points.empty() || row.time > points.back().time + apart) points.push_back({row.time, {}});
        points.back().counts = sums;
    }
    Json reasons = Json::array(), columns = Json::object();
    put_column(columns, "time", points, [&](const Point& point) { return clock.at(point.time); });
    for (std::size_t n = 0; n < engine::model::wait_reason_count; ++n) {
        const auto reason = static_cast<engine::model::WaitReason>(n);
        reasons.push_back({{"name", name_of(reason)}, {"meaning", meaning_of(reason)}});
        put_column(columns, name_of(reason), points, [&](const Point& point) { return point.counts[n]; });
    }
    std::vector<model::RunWaiting> left;
    for (const auto& [what, tasks] : now)
        if (tasks > 0) left.push_back({0, tasks, what.first, what.second});
    return {{"reasons", std::move(reasons)},
            {"count", points.size()},
            {"columns", std::move(columns)},
            {"left", left_of(run, left)},
            {"left_count", left.size()}};
}

struct FileTotal {
    std::string name;
    std::uint64_t bytes = 0, transfers = 0;
    std::int64_t wall_us = 0;
    bool is_input = true;
};

// Files by their names: those with most bytes.
Json files_of(const RunView& run) {
    std::vector<const model::RunTransfer*> order;
    for (const model::RunTransfer& one : run.transfers) order.push_back(&one);
    const auto key = [](const model::RunTransfer* one) {
        return std::pair(one->is_input, std::string_view(one->name));
    };
    std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return key(a) < key(b); });
    std::vector<FileTotal> totals;
    for (const model::RunTransfer* one : order) {
        if (totals.empty() || totals.back().name != one->name || totals.back().is_input != one->is_input)
            totals.push_back({one->name, 0, 0, 0, one->is_input});
        totals.back().bytes += one->bytes;
        engine::model::add_bounded(totals.back().wall_us, one->wall_us);
        totals.back().transfers += 1;
    }
    std::stable_sort(totals.begin(), totals.end(),
                     [](const FileTotal& a, const FileTotal& b) { return a.bytes > b.bytes; });
    constexpr std::size_t most_files = 500;
    Json rows = Json::array();
    for (std::size_t n = 0; n < std::min(totals.size(), most_files); ++n)
        rows.push_back({{"name", totals[n].name},
                        {"direction", totals[n].is_input ? "input" : "output"},
                        {"transfers", totals[n].transfers},
                        {"bytes", totals[n].bytes},
                        {"seconds", static_cast<double>(totals[n].wall_us) / 1e6}});
    return {{"count", totals.size()}, {"rows", std::move(rows)}};
}

Json categories_of(const RunView& run, const PageRows& rows) {
    Json all = Json::array();
    for (const std::uint32_t place : rows.shown())
        all.push_back({{"name", run.categories[place].name}, {"color", category_color(place)}});
    if (rows.left_out() > 0)
        all.push_back(
            {{"name", std::to_string(rows.left_out()) + " other categories"}, {"color", "#7f7f7f"}});
    all.push_back({{"name", "not known"}, {"color", category_color(run.categories.size())}});
    return all;
}

}  // namespace

Json page_data(const report::ReportedRun& reported) {
    const RunView& run = reported.run;
    const PageClock clock(run);
    const std::vector<report::LaneEntry> lanes = report::lanes_of(run, 10'000);
    const std::vector<report::LaneEntry> shown = chosen(run, lanes);
    const PageRows categories = rows_of_categories(run, reported.figures);
    const PageRows workers = rows_of_workers(run, lanes);
    Json endings;
    Json columns = attempts_of(run, shown, clock, categories, workers, endings);
    return {{"report", report::json_summary(reported)},
            {"boxes", boxes_of(reported.figures)},
            {"category_table", category_table(reported.figures)},
            {"host_table", host_table(reported.figures)},
            {"tick_us", clock.tick()},
            {"end", clock.at(run.end)},
            {"categories", categories_of(run, categories)},
            {"endings", std::move(endings)},
            {"workers", workers_of(run, lanes, workers, clock)},
            {"attempts", {{"count", shown.size()}, {"of", lanes.size()}, {"columns", std::move(columns)}}},
            {"busy", shown.size() < lanes.size() ? busy_of(run, lanes, workers) : Json()},
            {"series", series_of(run, clock)},
            {"waiting", waiting_of(run, clock)},
            {"files", files_of(run)}};
}

}  // namespace wq::views::web

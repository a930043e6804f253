#include "views/web/page_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace wq::views::web {

namespace {

using report::CategoryFigures;
using report::HostFigures;

std::vector<std::uint32_t> all_places(std::size_t count) {
    std::vector<std::uint32_t> places(count);
    std::iota(places.begin(), places.end(), 0U);
    return places;
}

// The places of the largest values, in order; of equal ones, the first.
std::vector<std::uint32_t> places_of_most(const std::vector<double>& values, std::size_t most) {
    std::vector<std::uint32_t> places = all_places(values.size());
    if (values.size() <= most) return places;
    const auto end = places.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(places.begin(), end, places.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(-values[a], a) < std::pair(-values[b], b);
    });
    places.erase(end, places.end());
    std::sort(places.begin(), places.end());
    return places;
}

// Six digits after the point are enough for a reader, and a page has thousands of them.
Json short_number(double value) {
    return std::round(value * 1e6) / 1e6;
}

Json known(double value) {
    return value < 0 ? Json() : short_number(value);
}

Json figure(const report::Spread& spread, double report::Spread::*value) {
    return spread.count == 0 ? Json() : short_number(spread.*value);
}

Json row_of(const CategoryFigures& one) {
    using report::Spread;
    return {{"name", one.name},
            {"attempts", one.attempts},
            {"failed", one.failed()},
            {"wall_median", figure(one.wall_seconds, &Spread::median)},
            {"wall_95", figure(one.wall_seconds, &Spread::percentile_95)},
            {"wall_max", figure(one.wall_seconds, &Spread::most)},
            {"cores_asked", figure(one.cores.asked, &Spread::median)},
            {"cores_used", figure(one.cores.used, &Spread::median)},
            {"memory_asked", figure(one.memory_mb.asked, &Spread::median)},
            {"memory_used", figure(one.memory_mb.used, &Spread::median)},
            {"memory_max", figure(one.memory_mb.used, &Spread::most)}};
}

Json row_of(const HostFigures& one) {
    const double offered = one.offered_core_seconds;
    const auto share = [&](double part) { return offered > 0 && part >= 0 ? 100 * part / offered : -1; };
    return {{"name", one.name},
            {"workers", one.workers},
            {"attempts", one.attempts},
            {"failed", one.failed},
            {"allocated_percent", known(share(one.core_seconds))},
            {"used_percent", known(share(one.used_core_seconds))},
            {"mean_wall_seconds", one.mean_wall_seconds > 0 ? short_number(one.mean_wall_seconds) : Json()},
            {"wall_of_other_hosts", one.slowness > 0 ? short_number(one.slowness) : Json()}};
}

std::string other(const char* what, std::size_t count) {
    return std::to_string(count) + " other " + what;
}

void add(CategoryFigures& sum, const CategoryFigures& one) {
    sum.attempts += one.attempts;
    sum.succeeded += one.succeeded;
}

void add(HostFigures& sum, const HostFigures& one) {
    sum.workers += one.workers;
    sum.attempts += one.attempts;
    sum.failed += one.failed;
    sum.offered_core_seconds += one.offered_core_seconds;
    sum.core_seconds += one.core_seconds;
    if (one.used_core_seconds >= 0)
        sum.used_core_seconds = std::max(sum.used_core_seconds, 0.0) + one.used_core_seconds;
}

template <class Figures>
Json table_of(const std::vector<Figures>& all, std::size_t most, const char* what) {
    std::vector<double> core_seconds;
    for (const Figures& one : all) core_seconds.push_back(one.core_seconds);
    const std::vector<std::uint32_t> shown = places_of_most(core_seconds, most);
    Json rows = Json::array();
    Figures sum;
    std::size_t next = 0;
    for (std::size_t place = 0; place < all.size(); ++place) {
        if (next < shown.size() && shown[next] == place) {
            rows.push_back(row_of(all[place]));
            ++next;
        } else {
            add(sum, all[place]);
        }
    }
    sum.name = other(what, all.size() - shown.size());
    if (shown.size() < all.size()) rows.push_back(row_of(sum));
    return {{"rows", std::move(rows)}, {"of", all.size()}};
}

}  // namespace

PageRows::PageRows(std::size_t places, std::vector<std::uint32_t> shown)
    : shown_(std::move(shown)), rows_(places, shown_.size()) {
    for (std::size_t row = 0; row < shown_.size(); ++row) rows_[shown_[row]] = row;
}

PageRows rows_of_categories(const model::RunView& run, const report::RunFigures& figures) {
    std::vector<double> core_seconds(run.categories.size(), -1);  // without attempts
    for (const CategoryFigures& one : figures.categories)
        if (one.place < core_seconds.size()) core_seconds[one.place] = one.core_seconds;
    return {run.categories.size(), places_of_most(core_seconds, most_categories)};
}

PageRows rows_of_workers(const model::RunView& run, const std::vector<report::LaneEntry>& lanes) {
    std::vector<double> core_time(run.workers.size());
    for (const report::LaneEntry& entry : lanes) {
        const model::RunAttempt& attempt = run.attempts[entry.attempt];
        if (attempt.worker >= core_time.size()) continue;
        const report::TimeSpan span = report::time_span_of(run, attempt);
        core_time[attempt.worker] +=
            static_cast<double>(std::max(attempt.cores, 0)) * static_cast<double>(span.end - span.begin);
    }
    return {run.workers.size(), places_of_most(core_time, most_workers)};
}

Json category_table(const report::RunFigures& figures) {
    return table_of(figures.categories, most_categories, "categories");
}

Json host_table(const report::RunFigures& figures) {
    return table_of(figures.hosts, most_hosts, "hosts");
}

Json boxes_of(const report::RunFigures& figures) {
    const auto box = [](const report::Spread& spread) -> Json {
        if (spread.count == 0) return nullptr;
        return Json::array({short_number(spread.least), short_number(spread.lower_quartile),
                            short_number(spread.median), short_number(spread.upper_quartile),
                            short_number(spread.most)});
    };
    Json boxes = Json::array();
    for (const CategoryFigures& one : figures.categories) {
        if (boxes.size() == most_boxes) break;
        boxes.push_back({{"name", one.name},
                         {"wall", box(one.wall_seconds)},
                         {"cores", box(one.cores.percent)},
                         {"memory", box(one.memory_mb.percent)}});
    }
    return boxes;
}

}  // namespace wq::views::web

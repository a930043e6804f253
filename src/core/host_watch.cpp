#include "core/host_watch.h"

#include <algorithm>
#include <cmath>

namespace wq::core {

namespace {

// So many failures in a row happen; from here on they are counted against the host.
constexpr std::uint64_t first_looked_at = 5;
// A host is judged by others only where so many tasks ended there, or went on.
constexpr std::uint64_t least_elsewhere = 5;
// Nor sooner: the others may only be slower to fail.
constexpr Duration least_time = std::chrono::seconds(1);
// What has run so many times as long as the failing ones do has not failed like them.
constexpr double surely_longer = 3;
// As unlikely as that the host is like the others: e^-20, one in 500 million.
constexpr double sure = 20;
// Failures that take longer than this and than tasks that succeed do no harm to the queue.
constexpr double quick_us = 1'000'000;
constexpr std::size_t most_rows = 16;

constexpr Duration first_time_aside = std::chrono::minutes(1);
constexpr Duration longest_time_aside = std::chrono::hours(1);
constexpr std::uint32_t good_again = 10;

double micros(Duration time) {
    return static_cast<double>(time / std::chrono::microseconds(1));
}

}  // namespace

HostWatch::Total& HostWatch::total(CategoryId category) {
    if (category.value() >= totals_.size()) totals_.resize(category.value() + 1);
    return totals_[category.value()];
}

HostWatch::Row& HostWatch::row(Host& host, CategoryId category) {
    const auto found = std::find_if(host.rows.begin(), host.rows.end(),
                                    [&](const Row& each) { return each.category == category; });
    if (found != host.rows.end()) return *found;
    if (host.rows.size() == most_rows) host.rows.erase(host.rows.begin());
    Row fresh;
    fresh.category = category;
    return host.rows.emplace_back(fresh);
}

Duration HostWatch::time_aside(std::uint32_t times_before) {
    return std::min(first_time_aside * (std::int64_t{1} << std::min(times_before, 10U)), longest_time_aside);
}

void HostWatch::succeeded(const std::string& name, CategoryId category, std::uint64_t tasks, Duration all) {
    Total& sum = total(category);
    sum.succeeded += tasks;
    sum.wall_us += micros(all);
    if (hosts_.empty()) return;
    const auto found = hosts_.find(name);
    if (found == hosts_.end()) return;
    Host& host = found->second;
    std::erase_if(host.rows, [&](const Row& each) { return each.category == category; });
    if (host.times_aside > 0 && ++host.good >= good_again) host.times_aside = 0;
    if (host.times_aside == 0 && host.rows.empty()) hosts_.erase(found);
}

std::optional<HostWatch::Verdict> HostWatch::failed(const std::string& name, CategoryId category,
                                                    Duration wall, Instant now,
                                                    const std::function<std::uint64_t()>& running_elsewhere) {
    Total& sum = total(category);
    ++sum.failed;
    Host& host = hosts_[name];
    Row& bad = row(host, category);
    ++bad.failures;
    bad.wall_us += micros(wall);
    if (bad.failures < first_looked_at) return std::nullopt;
    if (bad.failures == first_looked_at) {
        bad.since = now;
        bad.before = sum;
        bad.running_elsewhere = running_elsewhere();
        return std::nullopt;
    }
    const std::uint64_t counted = bad.failures - first_looked_at;
    const double each_us = bad.wall_us / static_cast<double>(bad.failures);
    const double passed_us = micros(now - bad.since);
    if (now - bad.since < least_time) return std::nullopt;

    const std::uint64_t good = sum.succeeded - bad.before.succeeded;
    const std::uint64_t failed_there = sum.failed - bad.before.failed - counted;
    const std::uint64_t ended = good + failed_there;
    std::uint64_t went_on = 0;
    if (passed_us >= surely_longer * each_us && bad.running_elsewhere > ended)
        went_on = bad.running_elsewhere - ended;
    const std::uint64_t elsewhere = ended + went_on;
    if (elsewhere < least_elsewhere) return std::nullopt;
    const double usual_us = sum.succeeded == 0 ? passed_us : sum.wall_us / static_cast<double>(sum.succeeded);
    if (each_us > std::max(usual_us, quick_us)) return std::nullopt;
    // How likely a task is to fail elsewhere, as far as so few can say.
    const double share = (static_cast<double>(failed_there) + 1) / (static_cast<double>(elsewhere) + 2);
    if (static_cast<double>(counted) * -std::log(share) < sure) return std::nullopt;
    return Verdict{bad.failures, std::chrono::microseconds(static_cast<std::int64_t>(each_us)), elsewhere,
                   failed_there, time_aside(host.times_aside)};
}

void HostWatch::set_aside(const std::string& name) {
    Host& host = hosts_[name];
    host.rows.clear();
    host.good = 0;
    ++host.times_aside;
}

void HostWatch::forget_unless_bad(const std::string& name) {
    const auto found = hosts_.find(name);
    if (found != hosts_.end() && found->second.times_aside == 0) hosts_.erase(found);
}

}  // namespace wq::core

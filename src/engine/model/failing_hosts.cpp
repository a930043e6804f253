#include "engine/model/failing_hosts.h"

#include <algorithm>
#include <cmath>

namespace wq::engine::model {

namespace {

// Fewer failures in a row are normal; from here on they count against the host.
constexpr std::uint64_t first_looked_at = 5;
// A host is compared with others only if this many tasks ended or kept running there.
constexpr std::uint64_t least_elsewhere = 5;
// No earlier: the others may only be slower to fail.
constexpr Duration judging_pause = std::chrono::seconds(1);
// A task that has run this many times as long as the failing ones has not failed like them.
constexpr double surely_longer = 3;
// Exclude when the chance that the host is like the others is below e^-20, one in 500 million.
constexpr double sure = 20;
// Failures that take longer than this, and longer than tasks that succeed, do not drain the queue.
constexpr double quick_us = 1'000'000;
// Checking that no other host could run the waiting tasks takes a look at each of their shapes.
constexpr std::uint64_t most_unjudged = 32;
constexpr std::size_t most_rows = 16;
// If more hosts fail at once, the hosts are not the cause.
constexpr std::size_t most_hosts = 256;

constexpr Duration first_exclusion_time = std::chrono::minutes(1);
constexpr Duration longest_exclusion_time = std::chrono::hours(1);
constexpr std::uint32_t good_again = 10;

double micros(Duration time) {
    return static_cast<double>(time / std::chrono::microseconds(1));
}

Duration exclusion_time(std::uint32_t times_before) {
    return std::min(first_exclusion_time * (std::int64_t{1} << std::min(times_before, 10U)),
                    longest_exclusion_time);
}

// Failures since `begun` are compared with tasks that started up to the same time before it. So wrong tasks
// in the middle of a list are not compared with long tasks from its beginning, and a bad host cannot fail for
// as long as the longest task runs.
Instant period_begin(Instant begun, Instant now) {
    return begun - std::max<Duration>(now - begun, Duration{0});
}

// Whether this many failures in a row, given the failures elsewhere, are more than chance, as far as so few
// samples can tell.
bool is_no_chance(std::uint64_t failures, std::uint64_t failed_elsewhere, std::uint64_t elsewhere) {
    if (elsewhere < least_elsewhere) return false;
    const double share = (static_cast<double>(failed_elsewhere) + 1) / (static_cast<double>(elsewhere) + 2);
    return static_cast<double>(failures) * -std::log(share) >= sure;
}

}  // namespace

FailingHosts::Kind& FailingHosts::kind(AlikeId alike) {
    if (alike.value() >= kinds_.size()) kinds_.resize(alike.value() + 1);
    return kinds_[alike.value()];
}

FailingHosts::Row& FailingHosts::row(const std::string& name, AlikeId alike) {
    const auto [found, added] = kind(alike).rows.try_emplace(name);
    if (!added) return found->second;
    Host& host = hosts_[name];
    if (host.rows.size() == most_rows) {
        kind(host.rows.front()).rows.erase(name);
        host.rows.erase(host.rows.begin());
    }
    host.rows.push_back(alike);
    return found->second;
}

void FailingHosts::succeeded(const Ended& ended, std::uint64_t tasks) {
    Kind& sum = kind(ended.alike);
    sum.succeeded += tasks;
    sum.wall_us += micros(ended.wall);
    if (hosts_.empty()) return;
    sum.rows.erase(ended.host);
    const Instant end =
        ended.begun + ended.wall / static_cast<std::int64_t>(std::max<std::uint64_t>(tasks, 1));
    for (auto& [name, row] : sum.rows)
        if (ended.begun >= period_begin(row.begun, end)) row.succeeded += tasks;
    const auto found = hosts_.find(ended.host);
    if (found == hosts_.end()) return;
    Host& host = found->second;
    std::erase(host.rows, ended.alike);
    if (host.times_excluded > 0 && ++host.good >= good_again) host.times_excluded = 0;
    if (host.times_excluded == 0 && host.rows.empty()) hosts_.erase(found);
}

std::optional<FailingHosts::Verdict> FailingHosts::failed(const Ended& ended, Instant now,
                                                          const Running& running_elsewhere) {
    Kind& all = kind(ended.alike);
    if (all.rows.size() >= most_hosts && !all.rows.contains(ended.host)) {
        ++all.failed;
        return std::nullopt;
    }
    Row& bad = row(ended.host, ended.alike);
    if (bad.all_failures++ == 0) {
        bad.begun = ended.begun;
        bad.failed_before = all.failed;
    }
    ++all.failed;
    ++bad.failures;
    bad.wall_us += micros(ended.wall);
    if (bad.failures < first_looked_at) return std::nullopt;
    if (bad.failures == first_looked_at) bad.looked_at = now;
    if (now - bad.looked_at < judging_pause || bad.failures < bad.judge_again_at) return std::nullopt;

    const double each_us = bad.wall_us / static_cast<double>(bad.failures);
    const double usual_us =
        all.succeeded == 0 ? micros(now - bad.begun) : all.wall_us / static_cast<double>(all.succeeded);
    if (each_us > std::max(usual_us, quick_us)) return std::nullopt;

    const std::uint64_t counted = bad.failures - first_looked_at;
    const std::uint64_t failed_there = all.failed - bad.failed_before - bad.all_failures;
    std::uint64_t elsewhere = bad.succeeded + failed_there;
    if (!is_no_chance(counted, failed_there, elsewhere)) {
        if (bad.failures < bad.count_again_at ||
            !is_no_chance(counted, failed_there, elsewhere + most_running))
            return std::nullopt;
        bad.count_again_at = bad.failures + bad.failures / 4;
        const double long_us = std::min(surely_longer * each_us, micros(now - bad.begun));
        elsewhere += running_elsewhere(period_begin(bad.begun, now),
                                       now - std::chrono::microseconds(static_cast<std::int64_t>(long_us)));
        if (!is_no_chance(counted, failed_there, elsewhere)) return std::nullopt;
    }
    return Verdict{bad.failures, std::chrono::microseconds(static_cast<std::int64_t>(each_us)), elsewhere,
                   failed_there, exclusion_time(hosts_[ended.host].times_excluded)};
}

// What is known of the other hosts since it began to fail stays valid until it succeeds.
void FailingHosts::note_exclusion(const std::string& name) {
    Host& host = hosts_[name];
    for (const AlikeId alike : host.rows) {
        Row& row = kind(alike).rows.at(name);
        row.failures = row.count_again_at = row.judge_again_at = 0;
        row.wall_us = 0;
    }
    host.good = 0;
    ++host.times_excluded;
}

void FailingHosts::spared(const std::string& name, AlikeId alike) {
    Row& bad = kind(alike).rows.at(name);
    bad.judge_again_at = bad.failures + std::min(bad.failures / 4 + 1, most_unjudged);
}

void FailingHosts::forget(const std::string& name) {
    const auto found = hosts_.find(name);
    if (found == hosts_.end()) return;
    for (const AlikeId alike : found->second.rows) kind(alike).rows.erase(name);
    hosts_.erase(found);
}

void FailingHosts::forget_unless_bad(const std::string& name) {
    const auto found = hosts_.find(name);
    if (found != hosts_.end() && found->second.times_excluded == 0) forget(name);
}

void FailingHosts::forget_all() {
    while (!hosts_.empty()) forget(std::string(hosts_.begin()->first));
}

}  // namespace wq::engine::model

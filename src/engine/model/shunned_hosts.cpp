#include "engine/model/shunned_hosts.h"

#include <algorithm>
#include <cmath>

namespace wq::engine::model {

void HostBlocks::block_host(const std::string& host, const HostBlock& block) {
    remove(host);
    ++version_;
    blocks_.emplace(host, block);
    if (block.until) ends_.insert({*block.until, host});
    if (block.by_itself) ++by_itself_;
}

bool HostBlocks::remove(const std::string& host) {
    const auto found = blocks_.find(host);
    if (found == blocks_.end()) return false;
    ++version_;
    if (found->second.until) ends_.erase({*found->second.until, host});
    if (found->second.by_itself) --by_itself_;
    blocks_.erase(found);
    return true;
}

const HostBlock* HostBlocks::find(const std::string& host) const {
    const auto found = blocks_.find(host);
    return found == blocks_.end() ? nullptr : &found->second;
}

std::optional<Instant> HostBlocks::next_end() const {
    if (ends_.empty()) return std::nullopt;
    return ends_.begin()->first;
}

std::vector<std::string> HostBlocks::over(Instant now) const {
    std::vector<std::string> hosts;
    for (const auto& [end, host] : ends_) {
        if (end > now) break;
        hosts.push_back(host);
    }
    return hosts;
}

std::optional<std::string> HostBlocks::audit() const {
    std::size_t ends = 0;
    std::size_t by_itself = 0;
    for (const auto& [host, block] : blocks_) {
        if (block.until && !ends_.contains({*block.until, host}))
            return "the block of " + host + " has no end";
        ends += block.until ? 1 : 0;
        by_itself += block.by_itself ? 1 : 0;
    }
    if (ends != ends_.size()) return "there are too many ends of blocks";
    if (by_itself != by_itself_) return "the count of excluded hosts is wrong";
    return std::nullopt;
}

void AvoidedHosts::avoid_worker(TaskId task, const Worker& worker, bool whole_host, Instant until) {
    remove(task);
    const ShapeId shape = ledger_.shape_of(task);
    avoided_[task] = {worker.id, worker.host, whole_host, until, shape};
    ends_.insert({until, task});
    if (++avoiding_[shape] == 1) ledger_.set_wakes(shape, Wakes::each);
}

void AvoidedHosts::remove_known(TaskId task) {
    const auto found = avoided_.find(task);
    if (found == avoided_.end()) return;
    const ShapeId shape = found->second.shape;
    ends_.erase({found->second.until, task});
    avoided_.erase(found);
    if (const auto count = avoiding_.find(shape); --count->second == 0) {
        avoiding_.erase(count);
        ledger_.set_wakes(shape, Wakes::first);
    }
}

void AvoidedHosts::remove(Interval tasks) {
    for (auto one = avoided_.lower_bound(TaskId(tasks.first));
         one != avoided_.end() && one->first.value() < tasks.end;)
        remove_known((one++)->first);
}

const AvoidedHosts::Avoided* AvoidedHosts::find(TaskId task) const {
    const auto found = avoided_.find(task);
    return found == avoided_.end() ? nullptr : &found->second;
}

std::optional<Instant> AvoidedHosts::next_end() const {
    return ends_.empty() ? std::nullopt : std::optional(ends_.begin()->first);
}

std::optional<TaskId> AvoidedHosts::over(Instant now) const {
    if (ends_.empty() || ends_.begin()->first > now) return std::nullopt;
    return ends_.begin()->second;
}

bool AvoidedHosts::avoids_now(TaskId task, const Worker& worker) const {
    const Avoided* const avoided = find(task);
    if (avoided == nullptr || avoided->host != worker.host) return false;
    if (avoided->whole_host && workers_.hosts_available() > 1) return true;
    return avoided->worker == worker.id && workers_.available_on(worker.host) > 1;
}

std::optional<TaskId> AvoidedHosts::first_for(const IntervalSet& tasks, const Worker& worker) const {
    auto part = tasks.front();
    while (part && avoids(TaskId(part->first), worker)) part = tasks.from(part->first + 1);
    if (!part) return std::nullopt;
    return TaskId(part->first);
}

std::optional<ReadyHead> AvoidedHosts::next_for(ShapeId shape, const Worker& worker) const {
    const auto head = ledger_.head(shape);
    if (!head || !avoids(head->task, worker)) return head;
    for (const auto& [priority, queue] : ledger_.ready(shape).queues) {
        // A task that was never dispatched avoids no host.
        std::optional<TaskId> next = first_for(queue.again, worker);
        if (const auto fresh = queue.fresh.front())
            next = std::min(next.value_or(TaskId(fresh->first)), TaskId(fresh->first));
        if (next) return ReadyHead{priority, *next, shape};
    }
    return std::nullopt;
}

std::optional<TaskId> AvoidedHosts::next_suspect_for(ShapeId shape, const Worker& worker) const {
    return first_for(ledger_.ready(shape).suspects, worker);
}

bool AvoidedHosts::has_one_for(ShapeId shape, Among among, const Worker& worker) const {
    return among == Among::suspects ? next_suspect_for(shape, worker).has_value()
                                    : next_for(shape, worker).has_value();
}

std::optional<std::string> AvoidedHosts::audit() const {
    if (avoided_.size() != ends_.size()) return "tasks avoid a host without an end";
    std::map<ShapeId, std::uint32_t> avoiding;
    for (const auto& [task, avoided] : avoided_) {
        ++avoiding[avoided.shape];
        if (ledger_.state(task) != TaskState::ready) return "a task that does not wait avoids a host";
    }
    if (avoiding != avoiding_) return "the count of tasks that avoid a host is wrong";
    return std::nullopt;
}

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

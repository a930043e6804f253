#include "views/model/stays.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "views/model/attempt_times.h"

namespace wq::views::model {

namespace {

// Managers compute the start of a process from its age, each time that it joins: two such times of one
// process differ by what a message took, or a clock was set.
constexpr WallMicros same_start = 2'000'000;

// Workers of one batch job on one host, or of one process.
using JobKey = std::tuple<std::string, std::string, WallMicros>;

JobKey key_of(const RunWorker& worker) {
    if (!worker.job.empty()) return {worker.host, worker.job, 0};
    WallMicros started = worker.job_started != 0 ? worker.job_started : worker.process_started;
    bound_time(started);
    return {worker.host, "", started};
}

// Its key in the map, or that of the same batch job or process.
template <class Value>
Value& find_or_add(std::map<JobKey, Value>& known, JobKey key) {
    const auto found = known.lower_bound({std::get<0>(key), std::get<1>(key), std::get<2>(key) - same_start});
    const bool is_same = found != known.end() && std::get<0>(found->first) == std::get<0>(key) &&
                         std::get<1>(found->first) == std::get<1>(key) &&
                         std::get<2>(found->first) <= std::get<2>(key) + same_start;
    return is_same ? found->second : known[std::move(key)];
}

// Of the run and its sessions, in their order.
std::vector<WallMicros> begins_of(const RunView& run) {
    std::vector<WallMicros> begins{run.begin};
    for (const RunSession& session : run.sessions) begins.push_back(std::max(session.begin, run.begin));
    for (WallMicros& begin : begins) bound_time(begin);
    std::sort(begins.begin(), begins.end());
    return begins;
}

WallMicros last_before(const std::vector<WallMicros>& begins, WallMicros time) {
    const auto next = std::upper_bound(begins.begin(), begins.end(), time);
    return next == begins.begin() ? begins.front() : *std::prev(next);
}

}  // namespace

std::vector<Stay> stays_of(std::span<const RunWorker> workers, const RunView& run) {
    const std::vector<WallMicros> begins = begins_of(run);
    std::vector<std::size_t> order(workers.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return workers[a].joined < workers[b].joined; });
    std::vector<Stay> stays(workers.size());
    std::map<JobKey, std::set<WallMicros>> ends;
    for (const std::size_t place : order) {
        const RunWorker& worker = workers[place];
        WallMicros joined = worker.joined;
        Stay stay{worker.job_started > 0 ? worker.job_started : worker.process_started,
                  worker.left > 0 ? worker.left : run.end};
        bound_time(joined), bound_time(stay.begin), bound_time(stay.end);
        if (stay.begin != 0) stay.begin = std::max(stay.begin, last_before(begins, joined));
        if (joined != 0) stay.begin = stay.begin == 0 ? joined : std::min(stay.begin, joined);
        if (stay.begin == 0) stay.begin = stay.end;
        if (worker.job_started > 0 || worker.process_started > 0) {
            std::set<WallMicros>& before = find_or_add(ends, key_of(worker));
            const auto next = before.upper_bound(joined);
            if (next != before.begin()) stay.begin = std::max(stay.begin, *std::prev(next));
            stay.end = std::max(stay.end, stay.begin);
            before.insert(stay.end);
        }
        stay.end = std::max(stay.end, stay.begin);
        stays[place] = stay;
    }
    return stays;
}

CoreTime not_offered_by(std::span<const RunWorker> workers, std::span<const Stay> stays) {
    struct Change {
        WallMicros time = 0;
        std::int64_t cores = 0;
        std::int64_t workers = 0;
    };
    struct Allocation {
        std::int64_t cores = 0;
        std::vector<Change> changes{};
    };
    std::map<JobKey, Allocation> allocations;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        if (workers[i].allocated_cores <= 0 || workers[i].job.empty()) continue;
        Allocation& allocation = find_or_add(allocations, key_of(workers[i]));
        allocation.cores = std::max(allocation.cores, workers[i].allocated_cores);
        allocation.changes.push_back({stays[i].begin, cores_of(workers[i]), 1});
        allocation.changes.push_back({stays[i].end, -cores_of(workers[i]), -1});
    }
    CoreTime sum = 0;
    for (auto& [key, allocation] : allocations) {
        std::sort(allocation.changes.begin(), allocation.changes.end(),
                  [](const Change& a, const Change& b) { return a.time < b.time; });
        Change now;
        for (const Change& change : allocation.changes) {
            const std::int64_t left = std::max<std::int64_t>(allocation.cores - now.cores, 0);
            if (now.workers > 0) sum += CoreTime{left} * (change.time - now.time);
            now = {change.time, now.cores + change.cores, now.workers + change.workers};
        }
    }
    return sum;
}

}  // namespace wq::views::model

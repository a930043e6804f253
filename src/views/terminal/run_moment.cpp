#include "views/terminal/run_moment.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/model/outcome.h"
#include "records/journal/records.h"

namespace wq::views::terminal {

namespace {

using engine::model::Ending;
using model::RunAttempt;
using model::RunView;

constexpr std::size_t most_last_failed = 40;
constexpr WallMicros rate_window = 60 * micros_per_second;

enum class Stage { none, running, ended };

Stage stage_at(const RunAttempt& attempt, WallMicros at) {
    if (attempt.received != 0 && attempt.received <= at) return Stage::ended;
    // Until then it waits at its worker.
    const WallMicros begin = attempt.started != 0 ? attempt.started : attempt.dispatched;
    return begin != 0 && begin <= at ? Stage::running : Stage::none;
}

WallMicros end_of(const RunView& run) {
    WallMicros end = std::max(run.begin, run.end);
    if (!run.attempts.empty()) end = std::max(end, run.attempts.back().received);
    return end;
}

Duration elapsed_at(const RunView& run, WallMicros at) {
    WallMicros sum = 0;
    for (const model::RunSession& session : run.sessions) {
        const bool is_last = &session == &run.sessions.back();
        const WallMicros end = is_last ? at : std::min(at, session.end);
        sum += std::max<WallMicros>(end - session.begin, 0);
    }
    if (run.sessions.empty()) sum = std::max<WallMicros>(at - run.begin, 0);
    return std::chrono::microseconds(sum);
}

// ---- tasks ----

TaskState state_of(const RunAttempt& attempt, Stage stage) {
    if (stage == Stage::running) return TaskState::running;
    if (attempt.succeeded()) return TaskState::succeeded;
    return attempt.is_final ? TaskState::failed : TaskState::retried;
}

// Which of a task's attempts says how the task is: a success, else one that runs, else the last one.
TaskRow task_row(const RunView& run, const std::vector<std::uint32_t>& by_task, std::uint32_t first,
                 std::uint32_t end, WallMicros at) {
    TaskRow row{run.attempts[by_task[first]].task, first, end - first, by_task[first]};
    const auto rank = [](TaskState state) {
        return state == TaskState::succeeded ? 2 : state == TaskState::running ? 1 : 0;
    };
    for (std::uint32_t n = first; n < end; ++n) {
        const RunAttempt& attempt = run.attempts[by_task[n]];
        const TaskState state = state_of(attempt, stage_at(attempt, at));
        if (n > first && rank(state) < rank(row.state)) continue;
        row.state = state;
        row.shown = by_task[n];
    }
    return row;
}

void fill_tasks(const RunView& run, RunMoment& moment) {
    for (std::uint32_t place = 0; place < run.attempts.size(); ++place)
        if (stage_at(run.attempts[place], moment.at) != Stage::none) moment.by_task.push_back(place);
    const auto key = [&](std::uint32_t place) {
        const RunAttempt& attempt = run.attempts[place];
        return std::tuple(attempt.task, attempt.attempt, place);
    };
    std::sort(moment.by_task.begin(), moment.by_task.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    const auto count = static_cast<std::uint32_t>(moment.by_task.size());
    for (std::uint32_t first = 0, end = 0; first < count; first = end) {
        const std::uint64_t task = run.attempts[moment.by_task[first]].task;
        while (end < count && run.attempts[moment.by_task[end]].task == task) ++end;
        moment.tasks.push_back(task_row(run, moment.by_task, first, end, moment.at));
    }
}

// ---- workers and hosts ----

WorkerState state_of(const model::RunWorker& worker, WallMicros at, std::uint32_t running) {
    using records::journal::WorkerChange;
    if (worker.left != 0 && worker.left <= at) return WorkerState::left;
    // Each lasts until its own end: a worker that comes back may be one of an excluded host.
    bool is_draining = false, is_excluded = false, is_disconnected = false;
    for (const model::RunWorkerChange& each : worker.changes) {
        if (each.time > at) continue;
        const WorkerChange change = each.change;
        if (change == WorkerChange::draining || change == WorkerChange::stays)
            is_draining = change == WorkerChange::draining;
        if (change == WorkerChange::excluded || change == WorkerChange::admitted)
            is_excluded = change == WorkerChange::excluded;
        if (change == WorkerChange::disconnected || change == WorkerChange::back ||
            change == WorkerChange::joined)
            is_disconnected = change == WorkerChange::disconnected;
    }
    if (is_disconnected) return WorkerState::disconnected;
    if (is_excluded) return WorkerState::excluded;
    if (is_draining) return WorkerState::draining;
    return running > 0 ? WorkerState::busy : WorkerState::idle;
}

void fill_workers(const RunView& run, RunMoment& moment) {
    std::vector<std::uint32_t> row_of(run.workers.size(), model::no_place);
    for (std::uint32_t place = 0; place < run.workers.size(); ++place) {
        if (run.workers[place].joined > moment.at) continue;
        row_of[place] = static_cast<std::uint32_t>(moment.workers.size());
        moment.workers.push_back({place});
    }
    for (const std::uint32_t place : moment.by_task) {
        const RunAttempt& attempt = run.attempts[place];
        if (attempt.worker >= row_of.size() || row_of[attempt.worker] == model::no_place) continue;
        WorkerRow& row = moment.workers[row_of[attempt.worker]];
        if (stage_at(attempt, moment.at) == Stage::running) {
            row.running += 1;
            row.cores_busy += attempt.cores;
        } else {
            (attempt.succeeded() ? row.succeeded : row.failed) += attempt.calls;
        }
    }
    std::map<std::string, HostRow> hosts;
    for (WorkerRow& row : moment.workers) {
        const model::RunWorker& worker = run.workers[row.worker];
        row.cores_busy = std::min(row.cores_busy, worker.cores);
        row.state = state_of(worker, moment.at, row.running);
        if (row.state == WorkerState::left) continue;
        HostRow& host = hosts[worker.host];
        host.host = worker.host;
        host.workers += 1;
        host.cores += worker.cores;
        host.cores_busy += row.cores_busy;
    }
    for (auto& [name, host] : hosts) moment.hosts.push_back(std::move(host));
}

// ---- failures and what waits ----

struct FailureGroup {
    FailureRow row;
    std::unordered_map<std::uint32_t, std::uint64_t> by_worker{};
};

void set_hosts(const RunView& run, FailureGroup& group) {
    std::map<std::string, std::uint64_t> by_host;
    for (const auto& [worker, count] : group.by_worker)
        if (worker != model::no_place) by_host[host_text(run, worker)] += count;
    std::vector<std::pair<std::string, std::uint64_t>> hosts(by_host.begin(), by_host.end());
    std::stable_sort(hosts.begin(), hosts.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    group.row.host_count = hosts.size();
    for (const auto& [host, count] : hosts)
        if (group.row.hosts.size() < FailureRow::examples) group.row.hosts.push_back(host);
}

void fill_failures(const RunView& run, RunMoment& moment) {
    using Kind = std::tuple<std::uint32_t, Ending, std::int32_t, std::uint16_t>;
    std::map<Kind, FailureGroup> groups;
    for (std::size_t place = run.attempts.size(); place-- > 0;) {  // the last first
        const RunAttempt& attempt = run.attempts[place];
        if (attempt.succeeded() || stage_at(attempt, moment.at) != Stage::ended) continue;
        const auto number = static_cast<std::uint32_t>(place);
        if (moment.last_failed.size() < most_last_failed) moment.last_failed.push_back(number);
        const bool exited = attempt.ending == Ending::exited || attempt.ending == Ending::not_started;
        const bool signalled = attempt.ending == Ending::signalled;
        FailureGroup& group = groups[{attempt.category, attempt.ending, exited ? attempt.exit_code : 0,
                                      signalled ? attempt.signal : std::uint16_t{0}}];
        FailureRow& row = group.row;
        if (row.attempts == 0) {
            row.category = attempt.category;
            row.what = ending_text(attempt);
        }
        row.attempts += attempt.calls;
        if (attempt.is_final) row.tasks += attempt.calls;
        const bool is_listed = std::any_of(row.latest.begin(), row.latest.end(), [&](std::uint32_t other) {
            return run.attempts[other].task == attempt.task;
        });
        if (!is_listed && row.latest.size() < FailureRow::examples) row.latest.push_back(number);
        group.by_worker[attempt.worker] += attempt.calls;
    }
    for (auto& [kind, group] : groups) {
        set_hosts(run, group);
        moment.failures.push_back(std::move(group.row));
    }
    std::stable_sort(moment.failures.begin(), moment.failures.end(),
                     [](const FailureRow& a, const FailureRow& b) { return a.attempts > b.attempts; });
}

void fill_waiting(const RunView& run, RunMoment& moment) {
    std::map<std::pair<std::uint32_t, engine::model::WaitReason>, WaitingRow> last;
    for (const model::RunWaiting& change : run.waiting) {
        if (change.time > moment.at) break;
        last[{change.ask, change.reason}] = {change.ask, change.reason, change.tasks, change.time};
    }
    for (const auto& [key, row] : last)
        if (row.tasks > 0) moment.waiting.push_back(row);
    std::stable_sort(moment.waiting.begin(), moment.waiting.end(),
                     [](const WaitingRow& a, const WaitingRow& b) { return a.tasks > b.tasks; });
}

// ---- counts ----

const model::RunSample* sample_at(const RunView& run, WallMicros at) {
    const auto after =
        std::upper_bound(run.samples.begin(), run.samples.end(), at,
                         [](WallMicros when, const model::RunSample& sample) { return when < sample.time; });
    return after == run.samples.begin() ? nullptr : &*std::prev(after);
}

// The sum is known, though not where tasks run; but if all cores are busy, those of each host are.
void take_busy_cores(const engine::model::ManagerStats& stats, RunMoment& moment) {
    moment.cores_busy = stats.committed_cores * 1000;
    if (stats.total_cores <= 0 || stats.committed_cores < stats.total_cores) return;
    moment.knows_hosts = true;
    for (HostRow& host : moment.hosts) host.cores_busy = host.cores;
}

void fill_counts(const RunView& run, RunMoment& moment) {
    RunCounts& counts = moment.counts;
    for (const TaskRow& row : moment.tasks) {
        const std::int64_t calls = run.attempts[row.shown].calls;
        if (row.state == TaskState::running) counts.running += calls;
        if (row.state == TaskState::succeeded || row.state == TaskState::failed) counts.done += calls;
        if (row.state == TaskState::failed) counts.failed += calls;
    }
    const std::int64_t known_running = counts.running;
    for (const HostRow& host : moment.hosts) moment.cores_busy += host.cores_busy;
    if (const model::RunSample* const sample = sample_at(run, moment.at)) {
        const engine::model::ManagerStats& stats = sample->stats;
        counts = {stats.tasks_submitted, stats.tasks_done, stats.tasks_failed, stats.tasks_running,
                  stats.tasks_waiting};
        moment.knows_running = stats.tasks_running == 0 || known_running > 0;
        if (!moment.knows_running) take_busy_cores(stats, moment);
    }
}

void fill_rate(const RunView& run, RunMoment& moment) {
    std::int64_t recent = 0;
    const WallMicros from = moment.at - rate_window;
    for (const TaskRow& row : moment.tasks) {
        const RunAttempt& attempt = run.attempts[row.shown];
        const bool done = row.state == TaskState::succeeded || row.state == TaskState::failed;
        if (done && attempt.received > from) recent += attempt.calls;
    }
    const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
    const double window = std::min(seconds(moment.elapsed), seconds(std::chrono::microseconds(rate_window)));
    if (window > 0) moment.rate = static_cast<double>(recent) / window;
    // Few ends in the last minute say little: long tasks.
    constexpr std::int64_t few = 10;
    double expected = moment.rate;
    if (recent < few && moment.elapsed.count() > 0)
        expected = static_cast<double>(moment.counts.done) / seconds(moment.elapsed);
    const std::int64_t left = moment.counts.submitted - moment.counts.done;
    if (expected > 0 && moment.counts.submitted >= 0 && left >= 0) {
        constexpr double most = 3e9;  // seconds: what a Duration holds
        moment.left = std::chrono::duration_cast<Duration>(
            std::chrono::duration<double>(std::min(static_cast<double>(left) / expected, most)));
    }
}

}  // namespace

const char* name_of(TaskState state) {
    switch (state) {
        case TaskState::running:
            return "running";
        case TaskState::retried:
            return "retried";
        case TaskState::failed:
            return "failed";
        case TaskState::succeeded:
            break;
    }
    return "succeeded";
}

const char* name_of(WorkerState state) {
    switch (state) {
        case WorkerState::busy:
            return "busy";
        case WorkerState::idle:
            return "idle";
        case WorkerState::draining:
            return "draining";
        case WorkerState::excluded:
            return "excluded";
        case WorkerState::disconnected:
            return "disconnected";
        case WorkerState::left:
            break;
    }
    return "left";
}

RunMoment moment_of(const RunView& run, std::optional<WallMicros> cut) {
    RunMoment moment;
    moment.at = std::min(cut.value_or(INT64_MAX), end_of(run));
    moment.elapsed = elapsed_at(run, moment.at);
    fill_tasks(run, moment);
    fill_workers(run, moment);
    fill_failures(run, moment);
    fill_waiting(run, moment);
    fill_counts(run, moment);
    moment.knows_hosts = moment.knows_hosts || moment.knows_running;
    fill_rate(run, moment);
    return moment;
}

std::string ending_text(const RunAttempt& attempt) {
    if (attempt.succeeded()) return "succeeded";
    if (attempt.ending == Ending::exited || attempt.ending == Ending::signalled) {
        engine::model::Outcome outcome;
        outcome.ending = attempt.ending;
        outcome.exit_code = attempt.exit_code;
        outcome.signal = attempt.signal;
        return engine::model::describe(outcome);
    }
    std::string name = engine::model::name_of(attempt.ending);
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

std::string category_text(const RunView& run, std::uint32_t category) {
    if (category >= run.categories.size() || run.categories[category].name.empty()) return "-";
    return run.categories[category].name;
}

std::string host_text(const RunView& run, std::uint32_t worker) {
    if (worker >= run.workers.size() || run.workers[worker].host.empty()) return "-";
    return run.workers[worker].host;
}

}  // namespace wq::views::terminal

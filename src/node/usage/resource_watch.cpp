#include "node/usage/resource_watch.h"

#include <signal.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/units.h"
#include "node/process/functions.h"

namespace wq::node::usage {

namespace {

constexpr Duration first_sample = std::chrono::milliseconds(100);
constexpr Duration interval = std::chrono::milliseconds(500);
constexpr Duration interval_of_memory = std::chrono::milliseconds(100);  // memory can grow fast
// Memory limits are checked at least this often, even if many processes make that costly.
constexpr Duration longest_rest_of_memory = std::chrono::seconds(2);
constexpr Duration together = std::chrono::milliseconds(50);  // samples due soon are taken together
// Samples may use 1/200 of a core, and walks over mappings, which may take a second each, 1/300.
constexpr int share_of_samples = 200;
constexpr int share_of_walks = 300;
constexpr int share_of_connections = 500;

constexpr Duration disk_interval = std::chrono::seconds(5);
constexpr Duration disk_interval_of_limit = std::chrono::seconds(1);
// For a task on whose folders the meter hung.
constexpr Duration disk_interval_of_stuck = std::chrono::minutes(10);
constexpr Duration disk_pause = std::chrono::milliseconds(20);  // per task, because many take turns
constexpr Duration first_disk = std::chrono::seconds(1);
constexpr Duration first_disk_of_limit = std::chrono::milliseconds(200);
constexpr Duration meter_again = std::chrono::seconds(10);  // after it could not be started
// A folder with at most this many files, measured within this time, is measured again at the end.
constexpr std::int64_t last_disk_files = 200;
constexpr Duration last_disk_time = std::chrono::seconds(2);
// If the meter never reached a task with a larger folder, the folder is sometimes measured completely at the
// end. This gives the category some measurements, and leaves the launcher time for other tasks.
constexpr std::int64_t last_whole_disk_files = 100'000;
constexpr Duration last_whole_disk_time = std::chrono::milliseconds(200);
constexpr int share_of_last_disks = 50;

constexpr int killed_by_oom_in_shell = 128 + 9;  // how a shell reports that its command was killed

bool anything_swapped() {
    struct sysinfo info {};
    return sysinfo(&info) == 0 && info.freeswap != info.totalswap;
}

std::vector<std::string> folders_of(const RunningTask& task) {
    std::vector<std::string> folders;
    for (const std::string& folder : {task.order.order.directory, task.directory.path()}) {
        std::error_code ignored;
        if (!folder.empty()) folders.push_back(std::filesystem::absolute(folder, ignored));
    }
    if (task.order.order.own_folder && folders.size() == 2) folders.pop_back();  // it is the same one
    return folders;
}

bool is_to_be_watched(const engine::model::Watch& watch) {
    return watch.measures || watch.limited();
}

// Whether we, not the kernel, enforce its memory limit.
bool is_held_by_looking(const RunningTask& task) {
    return task.monitor->watch().limits.memory_mb > 0 && !(task.group && task.group->holds_memory());
}

std::string cores_text(std::int64_t thousandths) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.4g", static_cast<double>(thousandths) / 1000);
    return text.data();
}

std::string text_of(const engine::model::Sizes& exceeded, const engine::model::Usage& used) {
    const auto mbs = [](std::int64_t amount, const char* of, std::int64_t limit) {
        return "used " + std::to_string(amount) + " MB of " + of + ", its limit is " + std::to_string(limit) +
               " MB";
    };
    if (exceeded.memory_mb >= 0) return mbs(used.memory, "memory", exceeded.memory_mb);
    if (exceeded.disk_mb >= 0) return mbs(used.disk, "disk", exceeded.disk_mb);
    return "kept " + cores_text(used.cores) + " cores busy, its limit is " + cores_text(exceeded.cores);
}

}  // namespace

void ResourceWatch::prepare(RunningTask& task) {
    const engine::model::Watch& watch = task.order.order.watch;
    if (!is_to_be_watched(watch)) return;
    const bool first = !groups_.begun();
    task.group = groups_.make(task.order.serial);
    if (first) oom_.go_over_to(machine::oom_event_files());
    if (task.group && watch.limits.memory_mb > 0) task.group->limit_memory(watch.limits.memory_mb);
}

void ResourceWatch::release(RunningTask& task) {
    if (task.group) groups_.give_up(std::move(task.group));
}

Duration rest_of_walks_for_limits(Duration walked) {
    constexpr int share = 200;
    constexpr int most = 20;
    constexpr Duration in_time = std::chrono::seconds(5);
    return std::max(std::min(share * walked, in_time), most * walked);
}

void ResourceWatch::begin(RunningTask& task) {
    const engine::model::Watch& watch = task.order.order.watch;
    if (!is_to_be_watched(watch)) return;
    task.monitor = std::make_unique<Monitor>(watch, task.started);
    task.monitor->next_sample = task.started + first_sample;
    task.monitor->next_disk = task.started + (watch.limits.disk_mb > 0 ? first_disk_of_limit : first_disk);
    const auto folders = folders_of(task);
    if (watch.measures && !folders.empty())
        task.monitor->events = SnapshotEvents::in(folders.front(), task.outcome.started_us);
    watched_.push_back(&task);
}

void ResourceWatch::take_back(RunningTask& task) {
    if (!task.monitor) return;
    task.monitor.reset();
    std::erase(watched_, &task);
    disk_.forget(task.order.serial);
}

void ResourceWatch::check(Instant now) {
    if (watched_.empty()) return;
    const bool due = now >= not_before_ &&
                     std::any_of(watched_.begin(), watched_.end(),
                                 [&](const RunningTask* task) { return now >= task->monitor->next_sample; });
    if (due) sample(now);
    if (disk_.late_at().value_or(Instant::max()) <= now) give_up_meter(now);
    if (!disk_.busy() && now >= disk_not_before_) ask_for_disk(now);
}

std::optional<Instant> ResourceWatch::next() const {
    std::optional<Instant> first;
    const auto add = [&](Instant at) {
        if (!first || at < *first) first = at;
    };
    for (const RunningTask* task : watched_) {
        add(std::max(not_before_, task->monitor->next_sample));
        if (!disk_.busy()) add(std::max(disk_not_before_, task->monitor->next_disk));
    }
    if (!watched_.empty() && disk_.late_at()) add(*disk_.late_at());
    return first;
}

void ResourceWatch::sample(Instant now) {
    const Duration begin = process::cpu_time(CLOCK_THREAD_CPUTIME_ID);
    walked_ = {};
    may_walk_ = now >= walk_not_before_;
    may_walk_for_limit_ = now >= walk_for_limit_not_before_;
    leftovers_.sweep_if_cheap(now);  // a task may have started daemons since
    reader_.begin_pass();
    const std::vector<RunningTask*> watched = watched_;
    for (RunningTask* task : watched)
        if (now + together >= task->monitor->next_sample) sample(*task);
    const Instant end = instant_now();
    const Duration rest = share_of_samples * (process::cpu_time(CLOCK_THREAD_CPUTIME_ID) - begin - walked_);
    const bool urgent = std::any_of(watched_.begin(), watched_.end(),
                                    [](const RunningTask* task) { return is_held_by_looking(*task); });
    not_before_ = end + (urgent ? std::min(rest, longest_rest_of_memory) : rest);
    if (end >= connections_not_before_) look_at_connections();
    if (walked_ == Duration::zero()) return;
    walk_not_before_ = end + share_of_walks * walked_;
    walk_for_limit_not_before_ = end + rest_of_walks_for_limits(walked_);
}

// A host may have many thousands of connections, and the kernel reports all of them at once.
void ResourceWatch::look_at_connections() {
    const auto has_sockets = [](const RunningTask* task) {
        const auto& processes = task->monitor->processes();
        return std::any_of(processes.begin(), processes.end(),
                           [](const ProcessSample& process) { return !process.sockets.empty(); });
    };
    const Duration begin = process::cpu_time(CLOCK_THREAD_CPUTIME_ID);
    std::optional<TrafficOf> all = TrafficOf{};
    if (std::any_of(watched_.begin(), watched_.end(), has_sockets)) all = sockets_.measure();
    const Instant now = instant_now();
    for (RunningTask* task : watched_)
        if (all && !task->monitor->processes().empty()) task->monitor->take(*all, now);
    connections_not_before_ =
        now + share_of_connections * (process::cpu_time(CLOCK_THREAD_CPUTIME_ID) - begin);
}

void ResourceWatch::sample(RunningTask& task) {
    Monitor& monitor = *task.monitor;
    std::vector<pid_t> roots = leftovers_.orphans_of(task);
    roots.insert(roots.begin(), task.pid);
    auto processes = reader_.tree(roots, monitor.processes());
    const Monitor::Memory memory = memory_of(task, processes);
    take_kernels_count(task);
    const Instant now = instant_now();
    monitor.take(std::move(processes), memory, now);
    monitor.record_point(monitor.events ? monitor.events->new_labels() : std::vector<std::string>(), now);
    monitor.next_sample = now + (is_held_by_looking(task) ? interval_of_memory : interval);
    hold_to_limits(task, now);
}

Monitor::Memory ResourceWatch::memory_of(const RunningTask& task,
                                         const std::vector<ProcessSample>& processes) {
    if (const auto memory = task.group ? task.group->memory() : std::nullopt)
        return {memory->kb, false, memory->swapped_kb};
    return resident_of(task, processes);
}

void ResourceWatch::take_kernels_count(const RunningTask& task) {
    if (const auto cpu_us = task.group ? task.group->cpu_us() : std::nullopt)
        task.monitor->counted_by_kernel(*cpu_us);
    task.monitor->memory_is_held = task.group && task.group->holds_memory();
}

bool ResourceWatch::ended_by_kernel(RunningTask& task) {
    engine::model::Outcome& outcome = task.outcome;
    // A task may continue and succeed although the kernel killed one of its children.
    const bool looks_so = task.verdict == Verdict::none &&
                          (outcome.signal == SIGKILL || outcome.exit_code == killed_by_oom_in_shell);
    const auto killed = task.group ? task.group->killed_for_memory() : TaskGroup::Killed::not_at_all;
    const bool in_its_group = killed != TaskGroup::Killed::not_at_all;
    // If our counter includes the kills in its group, they must not be counted for another task.
    const bool grew = (looks_so || in_its_group) && oom_.grew();
    if (!looks_so || !(in_its_group || grew)) return false;
    outcome.reason = killed_by_kernel;
    if (killed == TaskGroup::Killed::at_its_limit) {
        task.monitor->reached_memory_limit();
        outcome.reason = text_of(task.monitor->exceeded, task.monitor->usage());
    }
    return true;
}

Monitor::Memory ResourceWatch::resident_of(const RunningTask& task,
                                           const std::vector<ProcessSample>& processes) {
    Monitor& monitor = *task.monitor;
    Monitor::Memory memory;
    std::int64_t resident_kb = 0;
    std::int64_t largest_kb = 0;
    for (const ProcessSample& process : processes) {
        resident_kb += process.resident_kb;
        largest_kb = std::max(largest_kb, process.resident_kb);
    }
    const std::int64_t limit_kb = monitor.watch().limits.memory_mb * kb_per_mb;
    const bool over = limit_kb > 0 && resident_kb > limit_kb;
    // The unshared memory of one process needs no walk, and most tasks are one process.
    if (over) memory.kb = own_kb(task, processes);
    const bool certain = memory.kb > limit_kb;
    memory.shared_out = over && !certain;
    if (!certain && (over ? may_walk_for_limit_ : may_walk_) &&
        monitor.wants_proportional(processes, resident_kb)) {
        const Duration begin = process::cpu_time(CLOCK_THREAD_CPUTIME_ID);
        std::int64_t shares_kb = 0;
        for (const ProcessSample& process : processes)
            if (!process.ended) shares_kb += process::proportional_kb(process.pid);
        // The sum of shares is too small if processes were forked meanwhile.
        memory.kb = std::max(shares_kb, own_kb(task, processes));
        walked_ += process::cpu_time(CLOCK_THREAD_CPUTIME_ID) - begin;
    } else if (!over) {
        memory.kb = largest_kb;  // it has at least this much
    }
    if (anything_swapped())
        for (const ProcessSample& process : processes) memory.swapped_kb += reader_.swapped_kb(process.pid);
    return memory;
}

// The largest memory of one process that it shares with no other task. A call shares unwritten memory with
// the launcher, so the launcher's peak is subtracted.
std::int64_t ResourceWatch::own_kb(const RunningTask& task, const std::vector<ProcessSample>& processes) {
    std::int64_t most = 0;
    for (const ProcessSample& process : processes)
        if (!process.ended) most = std::max(most, reader_.anonymous_kb(process.pid));
    if (!task.order.order.call) return most;
    launcher_kb_ = std::max(launcher_kb_, reader_.anonymous_kb(getpid()));
    return std::max<std::int64_t>(most - launcher_kb_, 0);
}

void ResourceWatch::hold_to_limits(RunningTask& task, Instant now) {
    if (task.verdict != Verdict::none) return;
    const engine::model::Sizes excess = task.monitor->excess();
    if (excess == engine::model::Sizes{}) return;
    task.monitor->exceeded = excess;
    task.outcome.reason = text_of(excess, task.monitor->usage());
    limits_.kill(task, excess.memory_mb >= 0 ? Verdict::out_of_memory : Verdict::exhausted, now);
}

void ResourceWatch::last_look(pid_t pid) {
    const bool ours = std::any_of(watched_.begin(), watched_.end(), [&](const RunningTask* task) {
        return task->pid == pid || task->monitor->holds(pid);
    });
    last_look_.reset();
    if (ours) last_look_ = reader_.one(pid);
}

void ResourceWatch::waited_for(pid_t pid, RunningTask* main_of, const rusage& usage, Instant now) {
    if (main_of == nullptr) {
        for (RunningTask* task : watched_) task->monitor->waited_for(pid, usage, last_look_);
        return;
    }
    if (!main_of->monitor) return;
    std::vector<ProcessSample> left;
    for (const ProcessSample& process : main_of->monitor->processes()) {
        if (process.pid == pid) continue;
        const auto still = reader_.one(process.pid);
        if (still && still->began == process.began) left.push_back(*still);
    }
    take_kernels_count(*main_of);
    main_of->monitor->ended(usage, last_look_, left, now);
}

void ResourceWatch::finish(RunningTask& task) {
    const auto monitor = std::move(task.monitor);
    if (!monitor) return;
    std::erase(watched_, &task);
    disk_.forget(task.order.serial);
    const std::int64_t limit_mb = monitor->watch().limits.memory_mb;
    if (task.outcome.ending == engine::model::Ending::out_of_memory &&
        monitor->exceeded == engine::model::Sizes{} && limit_mb > 0 && monitor->usage().memory > limit_mb)
        monitor->exceeded.memory_mb = limit_mb;  // the kernel noticed it first
    const bool exceeded = monitor->exceeded != engine::model::Sizes{};
    if (!monitor->watch().measures && !exceeded) return;
    last_look_at_disk(task, *monitor);
    task.outcome.measured =
        engine::model::Measured{monitor->usage(), monitor->exceeded, monitor->disk_wait()};
    if (!monitor->watch().measures) return;
    monitor->record_point(monitor->events ? monitor->events->new_labels() : std::vector<std::string>(),
                          instant_now());
    task.report = monitor->take_report();
    task.report->machine_cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    if (double load = 0; ::getloadavg(&load, 1) == 1)
        task.report->machine_load = static_cast<std::int64_t>(load * 1000);
}

void ResourceWatch::last_look_at_disk(const RunningTask& task, Monitor& monitor) {
    const auto folders = folders_of(task);
    if (folders.empty() || monitor.disk_hangs) return;
    const Instant begin = instant_now();
    DiskWalk walk(folders);
    if (walk.go_on(last_disk_files, begin + last_disk_time)) return monitor.take(walk.found());
    if (monitor.usage().disk >= 0 || begin < last_disk_not_before_) return;
    if (walk.go_on(last_whole_disk_files, begin + last_whole_disk_time)) monitor.take(walk.found());
    const Instant end = instant_now();
    last_disk_not_before_ = end + share_of_last_disks * (end - begin);
}

void ResourceWatch::ask_for_disk(Instant now) {
    RunningTask* first = nullptr;
    for (RunningTask* task : watched_)
        if (now >= task->monitor->next_disk &&
            (first == nullptr || task->monitor->next_disk < first->monitor->next_disk))
            first = task;
    if (first == nullptr) return;
    Monitor& monitor = *first->monitor;
    const std::int64_t limit_mb = monitor.watch().limits.disk_mb;
    monitor.next_disk = now + std::max((limit_mb > 0 ? disk_interval_of_limit : disk_interval),
                                       disk_pause * static_cast<std::int64_t>(watched_.size()));
    const auto folders = folders_of(*first);
    if (folders.empty()) {
        monitor.next_disk = Instant::max();
        return;
    }
    if (!disk_.running() && !start_meter()) {
        disk_not_before_ = now + meter_again;
        return;
    }
    disk_.ask(first->order.serial, folders, now);
}

bool ResourceWatch::start_meter() {
    const pid_t pid = disk_.start();
    if (pid <= 0) return false;
    leftovers_.add_own(pid);
    poller_.add(disk_.descriptor(), process::PollSource::disk_meter, EPOLLIN);
    return true;
}

// A walk of several turns may count moved files twice, so two walks in a row must exceed the limit.
void ResourceWatch::handle_disk_answer(Instant now) {
    const auto answer = disk_.answer();
    if (!answer) return;
    for (RunningTask* task : watched_) {
        if (task->order.serial != answer->number || task->pid == 0) continue;
        Monitor& monitor = *task->monitor;
        monitor.disk_hangs = false;
        if (!answer->whole) monitor.next_disk = now;  // tasks that were due earlier come first
        const std::int64_t limit_mb = monitor.watch().limits.disk_mb;
        const bool over = limit_mb > 0 && answer->use.bytes > limit_mb * bytes_per_mb;
        if (over && !answer->in_one_turn && !std::exchange(monitor.disk_seems_over, true))
            return disk_.forget(answer->number);
        if (answer->whole) {
            monitor.disk_seems_over = over;
            monitor.take(answer->use);
        } else if (over) {
            monitor.take({answer->use.bytes, engine::model::unsaid});
        }
        return hold_to_limits(*task, now);
    }
}

void ResourceWatch::give_up_meter(Instant now) {
    const std::uint64_t stuck = disk_.give_up();
    for (RunningTask* task : watched_)
        if (task->order.serial == stuck) {
            task->monitor->next_disk = now + disk_interval_of_stuck;
            task->monitor->disk_hangs = true;
        }
}

}  // namespace wq::node::usage

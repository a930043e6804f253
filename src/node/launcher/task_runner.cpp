#include "node/launcher/task_runner.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>

namespace wq::node::launcher {

namespace {

// Raises our limit on descriptors if this many lanes need it. Returns the limit for tasks.
std::optional<rlimit> make_room_for_files(std::size_t lanes) {
    // A lane has up to 8 descriptors: two pipes and their overflow files, its folder, a shell's go line, a
    // call's result; one more for its control group, and for a Python call the request's 4 and a process in
    // each of the 4 interpreters. The launcher has some, and up to 16 spare processes of each interpreter.
    constexpr rlim_t of_lane = 17;
    constexpr rlim_t of_launcher = 128;
    rlimit limit{};
    const rlim_t needed = of_lane * lanes + of_launcher;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return std::nullopt;
    rlimit raised = limit;
    raised.rlim_cur = std::min(needed, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) != 0) return std::nullopt;
    return limit;
}

// Reaps an ended child of this thread without waiting; 0 or -1 if there is none.
pid_t wait_for_child(usage::ResourceWatch& watch, int& status, rusage& usage) {
    constexpr int own = __WALL | __WNOTHREAD;
    if (watch.idle()) return wait4(-1, &status, WNOHANG | own, &usage);
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | own) != 0 || info.si_pid == 0) return 0;
    watch.last_look(info.si_pid);
    return wait4(info.si_pid, &status, own, &usage);
}

}  // namespace

TaskRunner::TaskRunner(const LauncherOptions& options, char** inherited, SharedPage& shared,
                       const process::FunctionTable* functions, process::Poller& poller,
                       ReportBuffer& reports, Starters& starters)
    : options_(options),
      shared_(shared),
      reports_(reports),
      starters_(starters),
      base_(inherited, options.environment),
      accounts_(options.slice),
      lanes_(base_, options.scratch, options.slice.gpu_variable),
      leftovers_(lanes_.running(), options.environment_lines),
      limits_(lanes_.running(), leftovers_),
      watch_(leftovers_, limits_, poller, oom_),
      files_(make_room_for_files(options.slice.cores.size())),
      starter_(options.shell, base_.value("PATH"), files_ ? &*files_ : nullptr),
      calls_(functions, files_ ? &*files_ : nullptr),
      python_(base_.entries(), base_.value("PATH"), files_ ? &*files_ : nullptr, poller, lanes_.running(),
              leftovers_, static_cast<PythonListener&>(*this)),
      outputs_(poller),
      ends_(accounts_, lanes_, leftovers_, watch_, outputs_, reports) {
    if (!accounts_.all_cores().empty()) accounts_.all_cores().apply_to(0);
    if (!options.environment_lines) return;
    shell_ =
        std::make_unique<EnvironmentShell>(options.shell, base_.entries(), options.output_limit,
                                           files_ ? &*files_ : nullptr, static_cast<ShellListener&>(*this));
    shell_watch_.emplace(*shell_, poller, outputs_, leftovers_);
}

void TaskRunner::enqueue(process::OrderMessage message, Instant now) {
    if (shell_left_at_ && message.order.environment_position >= *shell_left_at_) return give_back(message);
    if (accounts_.ever_fits(message.order.give)) {
        queue_.push_back(std::move(message));
        return;
    }
    now_ = now;
    refuse(message, "needs more than this worker has");
}

void TaskRunner::refuse(const process::OrderMessage& message, std::string reason) {
    engine::model::Outcome outcome;
    engine::model::set_not_started(outcome, std::move(reason));
    const process::Order& order = message.order;
    reports_.add(message.serial, TaskEnded{order.task, order.attempt, std::move(outcome), {}}, now_);
}

void TaskRunner::tell(EnvironmentLine line) {
    if (shell_) shell_->tell(std::move(line));
}

void TaskRunner::recall(std::uint64_t most, Instant now) {
    now_ = now;
    for (; most > 0 && !queue_.empty(); --most) give_back(queue_.pop_back());
}

void TaskRunner::kill(TaskId task, Attempt attempt, Instant now) {
    now_ = now;
    if (Lane* lane = lanes_.by_task(task, attempt)) {
        limits_.kill(*lane, usage::Verdict::killed, now);
        if (lane->pid != 0) return;
        // It is being started.
        lane->order.order.call ? python_.abandon(*lane) : shell_->abandon();
        return;
    }
    if (const auto queued = queue_.take(task, attempt)) give_back(*queued);
}

void TaskRunner::kill_all(Instant now) {
    recall(queue_.size(), now);
    const std::vector<usage::RunningTask*> running = lanes_.running().all();
    for (const usage::RunningTask* task : running)
        kill(task->order.order.task, task->order.order.attempt, now);
}

void TaskRunner::give_back(const process::OrderMessage& message) {
    reports_.add(message.serial, OrderReturned{message.order.task, message.order.attempt}, now_);
}

void TaskRunner::check(Instant now) {
    now_ = now;
    limits_.check(now);
    watch_.check(now);
    python_.check(now);
    if (ends_.any()) settle(false);
    if (outputs_.owed()) watch_outputs(now);
    if (leftovers_.owed() && now >= leftovers_.owed_at()) leftovers_.sweep();
}

Instant TaskRunner::next_check(Instant now) const {
    Instant next = outputs_.next(now);
    if (leftovers_.owed()) next = std::min(next, leftovers_.owed_at());
    next = std::min(next, watch_.next().value_or(Instant::max()));
    next = std::min(next, python_.next_check().value_or(Instant::max()));
    return std::min(next, limits_.next().value_or(Instant::max()));
}

void TaskRunner::ready(process::Source source, std::size_t number, Instant now) {
    now_ = now;
    switch (source) {
        case process::Source::lane_out:
        case process::Source::lane_err: {
            Lane& lane = lanes_.at(number);
            if (lane.watched)
                outputs_.drain(source == process::Source::lane_out ? lane.out : lane.err, source, number);
            return;
        }
        case process::Source::shell_reply:
        case process::Source::shell_script:
        case process::Source::shell_out:
        case process::Source::shell_err:
            return shell_watch_->ready(source);
        case process::Source::interpreter:
        case process::Source::call_process:
            python_.ready(source, number);
            if (ends_.any()) settle(false);
            return;
        case process::Source::disk_meter:
            return watch_.take_disk_answer(now);
        default:
            return;
    }
}

void TaskRunner::children_ended(Instant now) {
    now_ = now;
    std::vector<Lane*> not_executed;
    std::optional<int> shell_ended;  // its status
    bool others = false;
    rusage usage{};
    int status = 0;
    for (pid_t pid = 0; (pid = wait_for_child(watch_, status, usage)) > 0;) {
        Lane* const lane = lanes_.by_pid(pid);
        if (!watch_.idle()) watch_.waited_for(pid, lane, usage, now);
        if (lane != nullptr) lane->execution.stack.reaped();
        if (lane != nullptr && lane->execution.stack.failure().pid < 0 &&
            lane->verdict == usage::Verdict::none) {
            lane->pid = 0;
            not_executed.push_back(lane);
        } else if (lane != nullptr) {
            ends_.note(*lane, status, usage, now);
        } else if (shell_ && pid == shell_->pid()) {
            shell_ended = status;
        } else {
            python_.reaped(pid, status);
            others = true;
        }
        leftovers_.reaped(pid);
    }
    settle(others);
    // Only now, because the ended tasks may have freed resources for them.
    for (Lane* lane : not_executed) start_anew(*lane);
    if (!shell_ended) return;
    shell_->died(*shell_ended);
    shell_watch_->look();
}

void TaskRunner::call_ended(Lane& lane, int status, const rusage& usage) {
    if (!watch_.idle()) watch_.waited_for(lane.pid, &lane, usage, now_);
    ends_.note(lane, status, usage, now_);
}

void TaskRunner::settle(bool others) {
    if (ends_.any()) forks_fail_ = false;
    ends_.settle(others, now_);
}

void TaskRunner::release(Lane& lane) {
    ends_.release(lane);
    forks_fail_ = false;
}

bool TaskRunner::loop_runs_tasks() const {
    const std::vector<usage::RunningTask*>& running = lanes_.running().all();
    return std::any_of(running.begin(), running.end(), [](usage::RunningTask* task) {
        return Lanes::lane_of(*task).starter == Starters::loop;
    });
}

bool TaskRunner::announce_starts(Instant now) {
    bool more = false;
    for (usage::RunningTask* task : lanes_.running().all()) {
        Lane& lane = Lanes::lane_of(*task);
        if (lane.announced || lane.pid == 0) continue;
        if (!is_executed(lane)) {
            more = true;
            continue;
        }
        lane.announced = true;
        reports_.add(lane.order.serial, TaskStarted{lane.order.order.task, lane.order.order.attempt}, now);
    }
    return more;
}

void TaskRunner::watch_outputs(Instant now) {
    for (usage::RunningTask* task : lanes_.running().all()) {
        Lane& lane = Lanes::lane_of(*task);
        if (lane.pid != 0 && OutputWatch::due(lane, now) && is_executed(lane)) outputs_.watch(lane);
    }
}

}  // namespace wq::node::launcher

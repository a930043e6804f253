// The part of TaskRunner that starts tasks.

#include "node/launcher/task_runner.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/environment_changes.h"
#include "engine/model/outcome.h"

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
      leftovers_(lanes_.running()),
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
    leftovers_.expect_shell();
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

void TaskRunner::add_line(EnvironmentLine line) {
    if (shell_) shell_->add_line(std::move(line));
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
    if (ends_.any()) settle_ends(TaskEnds::Ended::tasks);
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

void TaskRunner::ready(process::PollSource source, std::size_t number, Instant now) {
    now_ = now;
    switch (source) {
        case process::PollSource::lane_out:
        case process::PollSource::lane_err: {
            Lane& lane = lanes_.at(number);
            if (lane.watched)
                outputs_.drain(source == process::PollSource::lane_out ? lane.out : lane.err, source, number);
            return;
        }
        case process::PollSource::shell_reply:
        case process::PollSource::shell_script:
        case process::PollSource::shell_out:
        case process::PollSource::shell_err:
            return shell_watch_->ready(source);
        case process::PollSource::interpreter:
        case process::PollSource::call_process:
            python_.ready(source, number);
            if (ends_.any()) settle_ends(TaskEnds::Ended::tasks);
            return;
        case process::PollSource::disk_meter:
            return watch_.handle_disk_answer(now);
        default:
            return;
    }
}

void TaskRunner::children_ended(Instant now) {
    now_ = now;
    std::vector<Lane*> not_executed;
    std::optional<int> shell_ended;  // its status
    TaskEnds::Ended ended = TaskEnds::Ended::tasks;
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
            ends_.retire_lane(*lane, status, usage, now);
        } else if (shell_ && pid == shell_->pid()) {
            shell_ended = status;
        } else {
            python_.reaped(pid, status);
            ended = TaskEnds::Ended::others_too;
        }
        leftovers_.reaped(pid);
    }
    settle_ends(ended);
    // Only now, because the ended tasks may have freed resources for them.
    for (Lane* lane : not_executed) start_anew(*lane);
    if (!shell_ended) return;
    shell_->died(*shell_ended);
    shell_watch_->watch_descriptors();
}

void TaskRunner::call_ended(Lane& lane, int status, const rusage& usage) {
    if (!watch_.idle()) watch_.waited_for(lane.pid, &lane, usage, now_);
    ends_.retire_lane(lane, status, usage, now_);
}

void TaskRunner::settle_ends(TaskEnds::Ended ended) {
    if (ends_.any()) forks_fail_ = false;
    ends_.settle(ended, now_);
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

namespace {

// What to bind the task to; empty: it inherits the launcher's mask, which is right. A starter's own mask
// would not be.
machine::CpuMask mask_of(const Lane& lane, const Accounts& accounts) {
    machine::CpuMask mask = accounts.mask(lane.holding);
    return mask.bytes() == 0 && lane.starter != Starters::loop ? accounts.all_cores() : mask;
}

// Its temporary folder costs nothing: it is there, and is emptied after each task.
void use_own_folder(Lane& lane) {
    process::Order& order = lane.order.order;
    if (!order.own_folder || lane.directory.path().empty()) return;
    order.directory = lane.directory.path();
    std::erase_if(order.variables,
                  [](const auto& variable) { return variable.first == process::sandbox_variable; });
    order.variables.emplace_back(process::sandbox_variable, order.directory);
}

// The task's own variables count more.
void keep_batch_environment(process::Order& order, const process::BaseEnvironment& base) {
    const auto of_task = [&order](const std::string& name) {
        return std::ranges::find(order.variables, name, &EnvironmentChanges::value_type::first);
    };
    const auto word = of_task(batch_environment_variable);
    if (word == order.variables.end() || word->second != batch_environment_kept) return;
    for (const auto& change : base.as_batch_system())
        if (of_task(change.first) == order.variables.end()) order.variables.push_back(change);
}

}  // namespace

void TaskRunner::start_tasks(Instant now, Starters::Index by) {
    now_ = now;
    while (!queue_.empty() && !forks_fail_ && !reports_.congested() && start_next(by)) {
    }
}

bool TaskRunner::start_next(Starters::Index by) {
    const process::Order& head = queue_.front().order;
    if (shell_ && head.environment_position > 0 && !shell_->idle()) return false;
    std::optional<OrderQueue::Next> next = queue_.next(accounts_);
    if (!next) return false;
    const Starters::Index starter = starter_of(*next);
    if (starter == by || !starters_.leave_to(starter, by)) return start(std::move(*next), by);
    accounts_.give_back(next->holding);
    return false;
}

// Starters start plain commands only. The loop starts the rest: calls, as a user's function needs the main
// thread's stack (a forked child continues on the stack of the thread that forked it); tasks of the worker's
// shell, as it adopts them; and tasks that are watched.
Starters::Index TaskRunner::starter_of(const OrderQueue::Next& next) const {
    const process::Order& order = queue_.at(next.position).order;
    const std::vector<std::size_t>& cores = next.holding.seat.cores;
    const bool by_shell = shell_ && order.environment_position > 0;
    if (order.call || by_shell || order.watch.measures || order.watch.limited() || cores.empty())
        return Starters::loop;
    return starters_.of_core(cores.front());
}

bool TaskRunner::start(OrderQueue::Next next, Starters::Index by) {
    Lane* const lane = lanes_.acquire();
    if (lane == nullptr) {
        const char* const short_of = process::shortage(errno);
        accounts_.give_back(next.holding);
        return do_without_lane(short_of);
    }
    const std::vector<std::uint64_t> ahead = queue_.ahead_of(next.position);
    lane->order = queue_.take(next.position);
    use_own_folder(*lane);
    keep_batch_environment(lane->order.order, base_);
    // Recorded before the task can do anything, so that a task that kills the launcher is known to have run.
    shared_.begun.begin(lane->order.serial, ahead);
    lane->ended_before = ends_.count();
    lane->starter = by;
    const bool by_shell = shell_ && lane->order.order.environment_position > 0;
    lane->holding = std::move(next.holding);
    lane->cores_list = accounts_.cores_list(lane->holding);
    lane->visible_gpus = accounts_.visible_gpus(lane->holding);
    const std::uint64_t most = lane->order.order.output_limit.value_or(options_.output_limit);
    const std::string aside = most > engine::model::most_output_limit && !options_.scratch.empty()
                                  ? options_.scratch + "/stream." + std::to_string(lane->order.serial)
                                  : "";
    lane->out.begin(most, aside.empty() ? "" : aside + ".out");
    lane->err.begin(most, aside.empty() ? "" : aside + ".err");
    if (by_shell) {
        shell_->feed(*lane, mask_of(*lane, accounts_));
        shell_watch_->watch_descriptors();
        return true;
    }
    if (lane->order.order.call && lane->order.order.call->function == calls::python_function) {
        watch_.prepare(*lane);
        python_.start(*lane, accounts_.mask(lane->holding).bytes() == 0 ? "" : lane->cores_list);
    } else {
        start_process(*lane);
    }
    return true;
}

void TaskRunner::start_process(Lane& lane) {
    const machine::CpuMask mask = mask_of(lane, accounts_);
    const process::Order& order = lane.order.order;
    const process::TaskFacts facts{order.task, order.attempt, order.give, lane.cores_list, lane.visible_gpus};
    char* const* envp = lane.environment.prepare(facts, order.variables);
    lane.started = now_;
    lane.outcome.started_us = wall_now();
    watch_.prepare(lane);
    const bool grouped = lane.group != nullptr;
    switch (order.call ? calls_.start(lane, mask, envp) : starter_.start(lane, mask, envp)) {
        case TaskStarter::Result::started:
            started(lane);
            break;
        case TaskStarter::Result::impossible:
            start_failed(lane);
            break;
        case TaskStarter::Result::try_later:
            put_back(lane);
            break;
    }
    if (grouped && lane.pid > 0 && !lane.group) watch_.make_no_groups();
}

// No lane can be created for the head. If one of our tasks runs, its end may free what is short; if none
// runs, nothing would ever wake us to try again.
bool TaskRunner::do_without_lane(const char* short_of) {
    forks_fail_ = !lanes_.running().all().empty();
    if (forks_fail_) return false;
    refuse(queue_.pop_front(), short_of != nullptr ? short_of : "no pipe can be created for its output");
    return true;
}

void TaskRunner::started(Lane& lane) {
    outputs_.started();
    limits_.watch(lane);
    reports_.note_unreported(now_);
    is_executed(lane);
}

// Until then the task has our memory, so we must do nothing to it that would affect us, and its streams are
// not opened yet. If the exec failed, this never becomes true.
bool TaskRunner::is_executed(Lane& lane) {
    if (lane.executed) return true;
    if (lane.execution.stack.in_use() || lane.execution.stack.failure().pid < 0) return false;
    lane.executed = true;
    oom_score_.offer(lane.pid);
    watch_.begin(lane);
    return true;
}

// For a task whose process ended because it could not execute its file.
void TaskRunner::start_anew(Lane& lane) {
    switch (starter_.go_on(lane)) {
        case TaskStarter::Result::started:
            is_executed(lane);
            return;
        case TaskStarter::Result::impossible:
            outputs_.ended(lane);
            return start_failed(lane);
        case TaskStarter::Result::try_later:
            outputs_.ended(lane);
            return put_back(lane);
    }
}

// lane.outcome says why.
void TaskRunner::start_failed(Lane& lane) {
    lanes_.retire(lane);
    const process::Order& order = lane.order.order;
    reports_.add(lane.order.serial, TaskEnded{order.task, order.attempt, std::move(lane.outcome), {}}, now_);
    release(lane);
}

// The end of one of our tasks may free resources. If one has ended since the start began (the shell tries
// several times), try at once. If none runs, waiting is futile, and lane.outcome says what is short.
void TaskRunner::put_back(Lane& lane) {
    const bool may_be_room = lane.ended_before != ends_.count();
    if (!may_be_room && lanes_.running().all().size() == 1) return start_failed(lane);
    lanes_.retire(lane);
    queue_.push_front(std::move(lane.order));
    release(lane);
    forks_fail_ = !may_be_room;
}

void TaskRunner::task_started(Lane& lane) {
    lane.started = now_;
    lane.outcome.started_us = wall_now();
    started(lane);
    // It was to be killed before it had a process.
    if (lane.verdict != usage::Verdict::none) limits_.kill(lane, lane.verdict, now_);
}

void TaskRunner::task_taken_back(Lane& lane) {
    outputs_.ended(lane);
    watch_.take_back(lane);
    lane.executed = false;
}

void TaskRunner::task_not_started(Lane& lane, StartProblem problem) {
    if (lane.verdict == usage::Verdict::killed) {
        lanes_.retire(lane);
        give_back(lane.order);
        return release(lane);
    }
    engine::model::set_not_started(lane.outcome, std::move(problem.reason));
    problem.may_pass ? put_back(lane) : start_failed(lane);
}

void TaskRunner::line_ended(EnvironmentOutput output) {
    reports_.add(0, std::move(output), now_);
}

void TaskRunner::line_left(EnvironmentExit exit, Lane& lane) {
    shell_left_at_ = exit.position;
    reports_.add(0, exit, now_);
    lanes_.retire(lane);
    give_back(lane.order);
    release(lane);
    OrderQueue rest = std::exchange(queue_, {});
    while (!rest.empty()) enqueue(rest.pop_front(), now_);
}

}  // namespace wq::node::launcher

// The part of TaskRunner that starts tasks.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/environment_changes.h"
#include "engine/model/outcome.h"
#include "node/launcher/task_runner.h"

namespace wq::node::launcher {

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
        shell_watch_->look();
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

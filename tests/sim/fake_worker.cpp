#include "sim/fake_worker.h"

#include <algorithm>
#include <utility>

#include "engine/model/allocation.h"
#include "sim/overtaking.h"

namespace wq::sim {

void FakeWorker::tell(const engine::model::Action& action) {
    if (!alive_) return;
    if (const auto* lease = std::get_if<engine::model::Lease>(&action)) {
        if (seen_.insert({lease->task, lease->attempt}).second)
            take(lease->task, lease->attempt, lease->give, lease->timeout);
    } else if (const auto* one = std::get_if<engine::model::Kill>(&action)) {
        kill(*one);
    } else if (std::holds_alternative<engine::model::KillAll>(action)) {
        kill_all();
    } else if (const auto* recall = std::get_if<engine::model::Recall>(&action)) {
        give_back(recall->most);
    } else if (const auto* seal = std::get_if<engine::model::Seal>(&action)) {
        batches_.emplace(seal->batch, *seal);
    } else if (const auto* revoke = std::get_if<engine::model::Revoke>(&action)) {
        world_.board->poison(revoke->batch, plan_.node);
    }
    start_what_fits();
}

void FakeWorker::take(TaskId task, Attempt attempt, const engine::model::Resources& give, Duration timeout) {
    holds_[task] = {attempt, give, false, timeout};
    queue_.push_back(task);
}

void FakeWorker::start_what_fits() {
    while (alive_) {
        engine::model::Resources free = plan_.offers;
        free -= used_;
        if (!queue_.empty()) {
            const auto next = next_to_start(queue_.begin(), queue_.end(), free,
                                            [&](TaskId task) { return holds_.at(task).give; });
            if (next == queue_.end()) return;
            start(*next);
            queue_.erase(next);
        } else if (!claim()) {
            return;
        }
    }
}

bool FakeWorker::claim() {
    engine::model::Resources free = plan_.offers;
    free -= used_;
    for (const auto& [batch, seal] : batches_) {
        const engine::model::Resources give = engine::model::allocate(seal.needs, plan_.offers, seal.rules);
        if (!give.fits_in(free)) continue;
        if (const auto task = world_.board->claim(batch, plan_.node)) {
            tickets_[*task] = batch;
            take(*task, 1, give, Duration{0});
            return true;
        }
        say_dry(batch);
        return true;
    }
    return false;
}

void FakeWorker::say_dry(BatchId batch) {
    IntervalSet holding;
    for (const auto& [task, of] : tickets_)
        if (of == batch) holding.insert(task.value());
    succeeded_[batch].for_each([&](Interval part) { holding.insert(part); });
    batches_.erase(batch);
    world_.send(engine::model::TicketsReported{id_, batch, holding, true});
}

void FakeWorker::start(TaskId task) {
    Holding& held = holds_.at(task);
    held.running = true;
    used_ += held.give;
    const Duration wall = world_.wall(task);
    const bool late = held.timeout > Duration{0} && held.timeout < wall;
    world_.later(late ? held.timeout : wall, [this, task, late, attempt = held.attempt] {
        const auto it = holds_.find(task);
        if (!alive_ || it == holds_.end() || it->second.attempt != attempt) return;
        if (world_.kills(task)) return world_.die();
        engine::model::Outcome outcome = world_.run(task);
        if (late) outcome.ending = engine::model::Ending::timed_out;
        end(task, attempt, outcome);
        start_what_fits();
    });
}

void FakeWorker::end(TaskId task, Attempt attempt, const engine::model::Outcome& outcome) {
    if (holds_.at(task).running) used_ -= holds_.at(task).give;
    holds_.erase(task);
    const auto ticket = tickets_.extract(task);
    if (!world_.ranges || ticket.empty() || !outcome.succeeded())
        return world_.send(engine::model::TaskReported{id_, task, attempt, outcome});
    const BatchId batch = ticket.mapped();
    succeeded_[batch].insert(task.value());
    if (succeeded_[batch].count() >= 4) return flush(batch);
    world_.later(std::chrono::milliseconds(100), [this, batch] {
        if (alive_) flush(batch);
    });
}

void FakeWorker::flush(BatchId batch) {
    const IntervalSet done = std::exchange(succeeded_[batch], {});
    if (!done.empty()) world_.send(engine::model::RangeReported{id_, batch, done, 0, 1'000});
}

void FakeWorker::kill(const engine::model::Kill& kill) {
    engine::model::Outcome killed;
    killed.ending = engine::model::Ending::killed;
    for (auto held = holds_.lower_bound(TaskId(kill.tasks.first));
         held != holds_.end() && held->first.value() < kill.tasks.end;) {
        const TaskId task = held->first;
        const bool named = held++->second.attempt == kill.attempt;
        if (!named) continue;
        std::erase(queue_, task);
        end(task, kill.attempt, killed);
    }
}

std::vector<std::pair<TaskId, Attempt>> FakeWorker::resume() {
    batches_.clear();
    std::vector<std::pair<TaskId, Attempt>> all;
    for (const auto& [task, held] : holds_) all.emplace_back(task, held.attempt);
    for (const auto& [batch, tasks] : succeeded_)
        tasks.for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id) all.emplace_back(TaskId(id), 1);
        });
    return all;
}

void FakeWorker::kill_all() {
    queue_.clear();
    engine::model::Outcome killed;
    killed.ending = engine::model::Ending::killed;
    while (!holds_.empty()) end(holds_.begin()->first, holds_.begin()->second.attempt, killed);
}

void FakeWorker::give_back(std::uint64_t most) {
    for (; most > 0 && !queue_.empty(); --most) {
        const TaskId task = queue_.back();
        queue_.pop_back();
        const Attempt attempt = holds_.at(task).attempt;
        holds_.erase(task);
        tickets_.erase(task);
        world_.send(engine::model::TaskGivenBack{id_, task, attempt});
    }
}

}  // namespace wq::sim

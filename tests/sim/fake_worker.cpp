#include "sim/fake_worker.h"

#include <algorithm>

namespace wq::sim {

void FakeWorker::tell(const core::Action& action) {
    if (!alive_) return;
    if (const auto* lease = std::get_if<core::Lease>(&action)) {
        if (seen_.insert({lease->task, lease->attempt}).second)
            take(lease->task, lease->attempt, lease->give);
    } else if (std::holds_alternative<core::KillAll>(action)) {
        kill_all();
    } else if (const auto* recall = std::get_if<core::Recall>(&action)) {
        give_back(recall->most);
    } else if (const auto* seal = std::get_if<core::Seal>(&action)) {
        batches_.emplace(seal->batch, seal->needs);
    } else if (const auto* revoke = std::get_if<core::Revoke>(&action)) {
        world_.board->poison(revoke->batch, plan_.node);
    }
    start_what_fits();
}

void FakeWorker::take(TaskId task, Attempt attempt, const core::Resources& give) {
    holds_[task] = {attempt, give, false};
    queue_.push_back(task);
}

void FakeWorker::start_what_fits() {
    while (alive_) {
        core::Resources free = plan_.offers;
        free -= used_;
        if (!queue_.empty()) {
            if (!holds_.at(queue_.front()).give.fits_in(free)) return;
            start(queue_.front());
            queue_.pop_front();
        } else if (!claim()) {
            return;
        }
    }
}

bool FakeWorker::claim() {
    core::Resources free = plan_.offers;
    free -= used_;
    for (const auto& [batch, needs] : batches_) {
        const core::Resources give = core::allocate(needs, plan_.offers);
        if (!give.fits_in(free)) continue;
        if (const auto task = world_.board->claim(batch, plan_.node)) {
            tickets_[*task] = batch;
            take(*task, 1, give);
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
    batches_.erase(batch);
    world_.send(core::TicketsReported{id_, batch, holding, true});
}

void FakeWorker::start(TaskId task) {
    Holding& held = holds_.at(task);
    held.running = true;
    used_ += held.give;
    world_.later(world_.wall(task), [this, task, attempt = held.attempt] {
        const auto it = holds_.find(task);
        if (!alive_ || it == holds_.end() || it->second.attempt != attempt) return;
        if (world_.kills(task)) return world_.die();
        end(task, attempt, world_.run(task));
        start_what_fits();
    });
}

void FakeWorker::end(TaskId task, Attempt attempt, const core::Outcome& outcome) {
    if (holds_.at(task).running) used_ -= holds_.at(task).give;
    holds_.erase(task);
    tickets_.erase(task);
    world_.send(core::TaskReported{id_, task, attempt, outcome});
}

void FakeWorker::kill_all() {
    queue_.clear();
    core::Outcome killed;
    killed.ending = core::Ending::killed;
    while (!holds_.empty()) end(holds_.begin()->first, holds_.begin()->second.attempt, killed);
}

void FakeWorker::give_back(std::uint64_t most) {
    for (; most > 0 && !queue_.empty(); --most) {
        const TaskId task = queue_.back();
        queue_.pop_back();
        const Attempt attempt = holds_.at(task).attempt;
        holds_.erase(task);
        tickets_.erase(task);
        world_.send(core::TaskGivenBack{id_, task, attempt});
    }
}

}  // namespace wq::sim

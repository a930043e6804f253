// TCP connections, modelled exactly: in order, no duplicates; a disconnection loses what is in flight in both
// directions. Answers are kept until they are acknowledged, sent again on the next connection, and counted
// once.
#include "sim/simulation.h"

namespace wq::sim {

using namespace std::chrono_literals;

void Simulation::send_up(Life* life, const engine::model::Event& event) {
    if (!life->link.tcp) return over(life->up, [this, event] { tell_manager(event); });
    life->link.unacknowledged.emplace_back(++life->link.sent, event);
    if (life->link.up) transmit(life, life->link.sent, event);
}

void Simulation::transmit(Life* life, std::uint64_t number, const engine::model::Event& event) {
    life->up.last = std::max(life->up.last, now_ + up_to(random_, faults_.most_delay));
    at(life->up.last, [this, life, number, event, on = life->link.number] {
        Link& link = life->link;
        if (link.number != on || !life->known) return;
        if (number > link.received) {
            link.received = number;
            tell_manager(event);
        }
        later(up_to(random_, faults_.most_delay), [life, number, on] {
            auto& kept = life->link.unacknowledged;
            while (life->link.number == on && !kept.empty() && kept.front().first <= number) kept.pop_front();
        });
    });
}

void Simulation::send_down(Life* life, const engine::model::Action& action) {
    if (!life->link.tcp) return over(life->down, [life, action] { life->worker->tell(action); });
    const engine::model::Worker* worker = reactor_.workers().find(life->worker->id());
    // The manager does not know a new connection before the worker's hello on it.
    const bool same = life->link.up && life->link.manager_number == life->link.number;
    if (!same || worker == nullptr || worker->disconnected()) return;
    life->down.last = std::max(life->down.last, now_ + up_to(random_, faults_.most_delay));
    at(life->down.last, [life, action, on = life->link.number] {
        if (life->link.number == on) life->worker->tell(action);
    });
}

// The manager notices after a while, or through the next connection.
void Simulation::cut(Life* life) {
    Link& link = life->link;
    if (!link.tcp || !link.up || !life->worker->alive() || !life->known) return;
    ++counts_.cuts;
    link.up = false;
    const std::uint64_t next = ++link.number;
    later(up_to(random_, 2s), [this, life, next] {
        if (life->known && life->link.manager_number < next && life->link.number == next)
            tell_manager(
                engine::model::WorkerDisconnected{life->worker->id(), "cut", faults_.disconnect_limit});
    });
    const bool for_long = chance(random_, faults_.long_cuts);
    later(up_to(random_, for_long ? 2 * faults_.disconnect_limit : faults_.disconnect_limit / 2),
          [this, life] { reconnect(life); });
}

void Simulation::reconnect(Life* life) {
    if (!life->worker->alive() || finished_) return;
    Link& link = life->link;
    link.up = true;
    std::vector<std::pair<TaskId, Attempt>> holding = life->worker->resume();
    for (const auto& [number, event] : link.unacknowledged) {
        if (const auto* one = std::get_if<engine::model::TaskReported>(&event))
            holding.emplace_back(one->task, one->attempt);
        if (const auto* one = std::get_if<engine::model::TaskGivenBack>(&event))
            holding.emplace_back(one->task, one->attempt);
        if (const auto* many = std::get_if<engine::model::RangeReported>(&event))
            many->done.for_each([&](Interval part) {
                for (std::uint64_t id = part.first; id < part.end; ++id) holding.emplace_back(TaskId(id), 1);
            });
    }
    life->up.last = std::max(life->up.last, now_ + up_to(random_, faults_.most_delay));
    at(life->up.last, [this, life, holding, on = link.number] {
        if (life->link.number == on) arrive_again(life, holding);
    });
    for (const auto& [number, event] : link.unacknowledged) transmit(life, number, event);
}

void Simulation::arrive_again(Life* life, std::vector<std::pair<TaskId, Attempt>> holding) {
    const WorkerId id = life->worker->id();
    if (!life->worker->alive()) return;
    if (!life->known) {  // given up: it is refused, kills its tasks, and joins as a new worker
        if (present_[id.value()] != life) return;
        life->worker->die();
        return be_born(id.value());
    }
    life->link.manager_number = life->link.number;
    ++counts_.kept;
    tell_manager(engine::model::WorkerReconnected{id, std::move(holding)});
}

void Simulation::drain(Life* life) {
    if (!life->link.tcp || !life->worker->alive() || !life->known || finished_) return;
    if (plan_.workers[life->worker->id().value()].takes_tickets) return;
    ++counts_.drains;
    send_up(life, engine::model::WorkerDraining{life->worker->id()});
    life->worker->drain();
    later(up_to(random_, 20s), [this, life] {
        if (!life->worker->alive()) return;
        const WorkerId id = life->worker->id();
        send_up(life, engine::model::WorkerLeft{id, "drained", false});
        life->worker->die();
        // Its goodbye may be lost with the connection: then it counts as disconnected.
        later(1s + up_to(random_, 2s), [this, life, id] {
            if (life->known && reactor_.workers().find(id) != nullptr) lose_link_for_good(life, false);
            later(up_to(random_, 10s), [this, life, id] {
                if (present_[id.value()] == life) be_born(id.value());
            });
        });
    });
}

void Simulation::lose_link_for_good(Life* life, bool told) {
    later(up_to(random_, faults_.most_delay + 1s), [this, life, told] {
        ++life->link.number;
        if (!life->known) return;
        if (!told)
            return tell_manager(
                engine::model::WorkerDisconnected{life->worker->id(), "gone", faults_.disconnect_limit});
        life->known = false;
        tell_manager(engine::model::WorkerLeft{life->worker->id(), "gone", true});
    });
}

void Simulation::cancel_some() {
    const std::uint64_t tasks = reactor_.ledger().size();
    if (tasks == 0 || !chance(random_, faults_.cancels)) return;
    const std::uint64_t first = below(random_, tasks);
    const std::uint64_t most = chance(random_, faults_.cancelled_ranges) ? 20 : 1;
    tell_manager(engine::model::CancelRequested{{first, first + 1 + below(random_, most)}});
}

// ---- checks ----

void Simulation::check_told(WorkerId id, const char* what) {
    const engine::model::Worker* worker = reactor_.workers().find(id);
    if (worker == nullptr || worker->disconnected())
        wrong(std::string(what) + " for worker " + std::to_string(id.value()) + ", which is not there");
}

void Simulation::check_range(const engine::model::RangeEnded& ended) {
    ++counts_.ranges;
    ended.tasks.for_each([&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) {
            if (++final_records_[id] > 1) wrong("task " + std::to_string(id) + " ended again in a range");
            if (last_attempt_[id] > 1)
                wrong("task " + std::to_string(id) + " ended in a range, but not as attempt 1");
            last_attempt_[id] = std::max<Attempt>(last_attempt_[id], 1);
        }
    });
}

void Simulation::check_cancelled(const engine::model::Cancelled& cancelled) {
    cancelled.tasks.for_each([&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) {
            ++counts_.cancelled;
            if (final_records_[id] > 0 || plan_.tasks[id].cancelled)
                wrong("task " + std::to_string(id) + " is cancelled after its end");
            plan_.tasks[id].cancelled = true;
        }
    });
}

}  // namespace wq::sim

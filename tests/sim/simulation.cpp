#include "sim/simulation.h"

#include <utility>

namespace wq::sim {

using engine::model::TaskState;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t most_events = 200'000;
constexpr Duration beat_every = 1s;
constexpr Duration rejoin_limit = 60s;
constexpr int so_slow = 20;
constexpr Duration broken_wall = 50ms;
constexpr int broken_exit = 77;

engine::policies::ReactorOptions options(const Faults& faults, const Plan& plan) {
    engine::policies::ReactorOptions options;
    options.max_losses = faults.max_losses;
    options.halt_on_failure = faults.halt_on_failure;
    options.expected_workers = static_cast<std::uint32_t>(plan.workers.size());
    options.join_limit = 30s;
    options.rejoin_limit = rejoin_limit;
    options.seal_batches = faults.tickets;
    if (faults.proportional) options.allocation.rest = engine::model::Rest::proportional;
    if (faults.categories > 0) options.monitoring = {.measures = true, .enforces = true};
    return options;
}

Plan first_plan(const Faults& faults, std::uint64_t seed) {
    Random random(seed);
    return make_plan(faults, random);
}

}  // namespace

Counts& Counts::operator+=(const Counts& o) {
    runs += o.runs, events += o.events, leases += o.leases, queued += o.queued, seals += o.seals,
        tickets += o.tickets;
    recalls += o.recalls, lost += o.lost, stale += o.stale, alone += o.alone;
    cuts += o.cuts, kept += o.kept, drains += o.drains, cancelled += o.cancelled, killed += o.killed;
    expired += o.expired, ranges += o.ranges, exhausted += o.exhausted, spent += o.spent,
        aborted += o.aborted, blocks += o.blocks, excluded += o.excluded;
    released += o.released, copies += o.copies;
    digest ^= o.digest;
    return *this;
}

Simulation::Simulation(const Faults& faults, std::uint64_t seed)
    : Simulation(faults, seed, first_plan(faults, seed)) {}

Simulation::Simulation(const Faults& faults, std::uint64_t seed, Plan plan)
    : faults_(faults),
      random_(seed * 7919),
      plan_(std::move(plan)),
      now_(1h),
      reactor_(options(faults, plan_), now()) {
    const std::size_t tasks = plan_.tasks.size();
    own_failures_.resize(tasks), final_records_.resize(tasks), last_attempt_.resize(tasks),
        losses_.resize(tasks), exhausted_.resize(tasks), aborted_.resize(tasks), slow_runs_.resize(tasks),
        runs_.resize(tasks);
    present_.resize(plan_.workers.size());
}

engine::model::Now Simulation::now() const {
    return {now_, now_.time_since_epoch() / 1us};
}

void Simulation::wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
}

// ---- the network
// ----------------------------------------------------------------------------------------------------

void Simulation::over(Channel& channel, std::function<void()> what) {
    channel.last = std::max(channel.last, now_ + up_to(random_, faults_.most_delay));
    at(channel.last, what);
    if (!chance(random_, faults_.duplicates)) return;
    channel.last += up_to(random_, faults_.most_delay);
    at(channel.last, std::move(what));
}

// ---- workers and hosts
// ----------------------------------------------------------------------------------------------

void Simulation::feed(std::uint64_t index) {
    const PlannedTask& task = plan_.tasks[index];
    if (task.barrier_before) tell_manager(engine::model::BarrierAdded{});
    engine::model::TasksAdded added{{TaskId(index), 1, task.shape, task.groups}, {}, {}};
    if (task.before == TaskState::done) added.done.insert(index);
    if (task.before == TaskState::failed) added.failed.insert(index);
    tell_manager(added);
}

void Simulation::be_born(std::uint32_t id) {
    if (finished_) return;
    lives_.push_back(std::make_unique<Life>());
    Life* life = lives_.back().get();
    present_[id] = life;
    FakeWorker::World world;
    world.later = [this](Duration delay, std::function<void()> what) { later(delay, std::move(what)); };
    life->link.tcp = plan_.workers[id].tcp;
    world.send = [this, life](const engine::model::Event& event) { send_up(life, event); };
    world.ranges = faults_.ranges;
    world.run = [this, id](TaskId task) {
        const PlannedTask& planned = plan_.tasks[task.value()];
        engine::model::Outcome outcome;
        outcome.wall_us = planned.wall / 1us;
        if (breaks(WorkerId(id))) {
            outcome.wall_us = broken_wall / 1us;
            outcome.exit_code = broken_exit;
            return outcome;
        }
        // A failure whose report is lost with the worker does not count, so tasks that fail for good must
        // fail every time.
        if (planned.failures > planned.shape.retries || own_failures_[task.value()] < planned.failures) {
            ++own_failures_[task.value()];
            outcome.exit_code = 1;
            if (chance(random_, 0.3)) outcome.ending = engine::model::Ending::timed_out;
        } else if (exhausted_[task.value()] < planned.exhausts) {
            outcome.ending = engine::model::Ending::out_of_memory;
        }
        if (planned.peak_mb > 0) measure(WorkerId(id), task, outcome);
        return outcome;
    };
    world.wall = [this, id](TaskId task) {
        const PlannedTask& planned = plan_.tasks[task.value()];
        if (breaks(WorkerId(id))) return Duration(broken_wall);
        const bool slow = slow_runs_[task.value()]++ < planned.slow_runs;
        return slow ? so_slow * planned.wall : planned.wall;
    };
    world.kills = [this](TaskId task) { return plan_.tasks[task.value()].kills_worker; };
    world.die = [this, life] { end_life(life, chance(random_, 0.8)); };
    world.board = &board_;
    life->worker = std::make_unique<FakeWorker>(WorkerId(id), plan_.workers[id], std::move(world));

    const PlannedWorker& plan = plan_.workers[id];
    engine::model::WorkerJoined joined{
        WorkerId(id), "node" + std::to_string(plan.node), plan.offers, {}, plan.takes_tickets, plan.tcp};
    // The transport reports Joined once.
    life->up.last = std::max(life->up.last, now_ + up_to(random_, faults_.most_delay));
    at(life->up.last, [this, life, joined] {
        for (const auto& other : lives_)
            if (other->worker->id() == joined.worker) other->known = false;
        life->known = true;
        tell_manager(joined);
    });
    if (!plan.tcp) beat(life);
}

void Simulation::beat(Life* life) {
    if (!life->worker->alive() || finished_) return;
    over(life->up, [this, life] { tell_manager(engine::model::WorkerHeard{life->worker->id()}); });
    later(beat_every, [this, life] { beat(life); });
}

// It dies; the manager is told, or must notice the silence. Its last frames may arrive later.
void Simulation::end_life(Life* life, bool told) {
    if (!life->worker->alive()) return;
    life->worker->die();
    ++counts_.lost;
    const std::uint32_t node = life->worker->node();
    bool node_lives = false;
    for (const auto& other : lives_)
        node_lives = node_lives || (other->worker->alive() && other->worker->node() == node);
    if (!node_lives) board_.lose_node(node);
    const WorkerId id = life->worker->id();
    if (life->link.tcp)
        lose_link_for_good(life, told);
    else if (told)
        later(up_to(random_, faults_.most_delay), [this, life, id] {
            if (!life->known) return;
            life->known = false;
            tell_manager(engine::model::WorkerLeft{id, "gone", true});
        });
    later(up_to(random_, chance(random_, 0.3) ? faults_.most_delay : 15s),
          [this, id] { be_born(id.value()); });
}

void Simulation::make_faults() {
    if (finished_) return;
    for (Life* life : present_)
        if (life != nullptr && chance(random_, faults_.losses)) end_life(life, chance(random_, 0.7));
    for (Life* life : present_) {
        if (life == nullptr) continue;
        if (chance(random_, faults_.cuts)) cut(life);
        if (chance(random_, faults_.drains)) drain(life);
    }
    cancel_some();
    if (faults_.blocks > 0 && chance(random_, faults_.blocks)) block_some();
    if (faults_.storage_trouble && chance(random_, 0.05)) {
        tell_manager(engine::model::StorageTrouble{true});
        later(up_to(random_, 3s), [this] { tell_manager(engine::model::StorageTrouble{false}); });
    }
    later(1s, [this] { make_faults(); });
}

void Simulation::change_rules() {
    if (finished_) return;
    engine::model::Tuned tuned;
    tuned.allocation = {chance(random_, 0.7) ? engine::model::Rest::proportional : engine::model::Rest::whole,
                        chance(random_, 0.5)};
    tell_manager(tuned);
}

void Simulation::block_some() {
    ++counts_.blocks;
    const std::string host = "node" + std::to_string(below(random_, plan_.workers.size() / 2 + 1));
    const Duration time = 1s + up_to(random_, 20s);
    const bool ends = chance(random_, 0.5);
    tell_manager(engine::model::HostBlocked{host, ends ? std::optional(time) : std::nullopt});
    later(time, [this, host, all = chance(random_, 0.2)] {
        tell_manager(engine::model::HostUnblocked{all ? std::nullopt : std::optional(host)});
    });
}

// ---- the manager
// ----------------------------------------------------------------------------------------------------

void Simulation::tell_manager(const engine::model::Event& event) {
    if (finished_ || !wrong_.empty()) return;
    ++counts_.events;
    if (const auto* trouble = std::get_if<engine::model::StorageTrouble>(&event))
        storage_trouble_ = trouble->now;
    std::vector<engine::model::Action> actions;
    reactor_.on(event, now(), actions);
    const bool idle = actions.empty() && std::holds_alternative<engine::model::WorkerHeard>(event);
    if (const auto contradiction = idle ? std::nullopt : reactor_.audit()) wrong("audit: " + *contradiction);
    if (!idle) check_waiting();
    for (const engine::model::Action& action : actions) {
        obey(action);
        if (faults_.limits) check_limit(action);
    }
    if (most_at_once_ >= 0 && !claimable_.empty()) wrong("ranks may claim beyond the limit of a category");
}

// Each task that waits has one reason.
void Simulation::check_waiting() {
    std::uint64_t tasks = 0;
    for (const engine::model::WaitingTasks& each : reactor_.waiting())
        if (each.reason != engine::model::WaitReason::program) tasks += each.tasks;
    const auto waiting = static_cast<std::uint64_t>(reactor_.stats().tasks_waiting);
    if (tasks != waiting)
        wrong(std::to_string(tasks) + " tasks wait for something, of " + std::to_string(waiting));
}

Simulation::Life* Simulation::known_life(WorkerId worker) {
    for (const auto& life : lives_)
        if (life->known && life->worker->id() == worker) return life.get();
    return nullptr;
}

void Simulation::obey(const engine::model::Action& action) {
    counts_.digest = counts_.digest * 1'099'511'628'211u + action.index();
    const auto send = [&](WorkerId worker) {
        if (Life* life = known_life(worker)) send_down(life, action);
    };
    if (const auto* lease = std::get_if<engine::model::Lease>(&action)) {
        check_lease(*lease);
        send(lease->worker);
    } else if (const auto* ended = std::get_if<engine::model::AttemptEnded>(&action)) {
        check_ended(*ended);
    } else if (const auto* range = std::get_if<engine::model::RangeEnded>(&action)) {
        check_range(*range);
    } else if (const auto* cancelled = std::get_if<engine::model::Cancelled>(&action)) {
        check_cancelled(*cancelled);
    } else if (const auto* one = std::get_if<engine::model::Kill>(&action)) {
        check_told(one->worker, "kill");
        ++counts_.killed;
        for (std::uint64_t id = one->tasks.first; id < one->tasks.end; ++id)
            told_to_end_.insert({TaskId(id), one->attempt});
        send(one->worker);
    } else if (const auto* kill = std::get_if<engine::model::KillAll>(&action)) {
        send(kill->worker);
    } else if (const auto* recall = std::get_if<engine::model::Recall>(&action)) {
        ++counts_.recalls;
        check_told(recall->worker, "recall");
        send(recall->worker);
    } else if (const auto* seal = std::get_if<engine::model::Seal>(&action)) {
        ++counts_.seals;
        counts_.tickets += seal->tasks.count();
        seal->tasks.for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id)
                if (last_attempt_[id] > 0)
                    wrong("task " + std::to_string(id) + " is sealed after it was out");
        });
        board_.seal(*seal);
        for (const auto& life : lives_)
            if (const WorkerId id = life->worker->id(); life->known &&
                                                        plan_.workers[id.value()].takes_tickets &&
                                                        reactor_.workers().find(id)->available())
                send(id);
    } else if (const auto* revoke = std::get_if<engine::model::Revoke>(&action)) {
        board_.revoke(revoke->batch);
        for (const auto& life : lives_)
            if (life->known) send(life->worker->id());
    } else if (std::holds_alternative<engine::model::HostExcluded>(action)) {
        ++counts_.excluded;
    } else if (std::holds_alternative<engine::model::HostReleased>(action)) {
        ++counts_.released;
    } else if (const auto* dismiss = std::get_if<engine::model::Dismiss>(&action)) {
        if (Life* life = known_life(dismiss->worker)) life->known = false;
    } else if (const auto* finished = std::get_if<engine::model::Finished>(&action)) {
        finished_ = *finished;
    }
}

void Simulation::check_times_and_priority(const engine::model::Lease& lease, const std::string& name) {
    const engine::model::Ledger& ledger = reactor_.ledger();
    const engine::model::Shape& shape = plan_.tasks[lease.task.value()].shape;
    counts_.digest ^= lease.task.value() * 31 + lease.worker.value();
    if (shape.not_before && now().wall < *shape.not_before) wrong(name + " is leased before its time");
    if (shape.not_after && now().wall >= *shape.not_after) wrong(name + " is leased after its time");
    if (shape.not_after && (lease.timeout == Duration{0} ||
                            lease.timeout > std::chrono::microseconds(*shape.not_after - now().wall)))
        wrong(name + " may run beyond its end time");
    const auto head = ledger.head(ledger.shape_of(lease.task));
    // A task that was too slow on a host waits for another one; other tasks do not wait with it.
    const engine::model::Worker* const worker = reactor_.workers().find(lease.worker);
    const bool waits = head && worker != nullptr && reactor_.avoids(head->task, *worker);
    if (head && !waits && head->priority > shape.priority && ledger.find_attempted(lease.task)->losses == 0)
        wrong(name + " is leased before task " + std::to_string(head->task.value()) +
              ", which is more urgent");
}

void Simulation::check_lease(const engine::model::Lease& lease) {
    const std::string name =
        "task " + std::to_string(lease.task.value()) + "." + std::to_string(lease.attempt);
    ++counts_.leases;
    ++runs_[lease.task.value()];
    if (reactor_.stopping()) wrong(name + " is leased while stopping");
    if (storage_trouble_) wrong(name + " is leased although its result cannot be written");
    if (final_records_[lease.task.value()] > 0) wrong(name + " is leased after it ended");
    if (std::exchange(last_attempt_[lease.task.value()], lease.attempt) >= lease.attempt)
        wrong(name + " is no new attempt");
    if (lease.attempt == 1 && board_.was_claimed(lease.task)) wrong(name + " was a ticket before");
    if (lease.copy) ++counts_.copies;
    int held = 0;
    for (const auto& life : lives_) {
        const auto found = life->worker->holds().find(lease.task);
        if (!life->known || !life->worker->alive() || found == life->worker->holds().end() ||
            told_to_end_.contains({lease.task, found->second.attempt}))
            continue;
        if (++held > (lease.copy ? 1 : 0))
            wrong(name + " is leased while worker " + std::to_string(life->worker->id().value()) +
                  " holds it");
    }
    const engine::model::Worker* worker = reactor_.workers().find(lease.worker);
    if (worker == nullptr) return wrong(name + " is leased to nobody");
    check_times_and_priority(lease, name);
    if (faults_.categories > 0) check_category(lease, name);
    if (!worker->available()) wrong(name + " is leased to a worker that is disconnected or drains");
    if (worker->alone) ++counts_.alone;
    if (worker->free().cores < 0) ++counts_.queued;
    const bool queues = faults_.short_tasks || faults_.broken;
    if (!worker->used.fits_in(worker->whole) && !queues && !faults_.tickets)
        wrong(name + " is one too many for its worker");
}

std::uint32_t Simulation::most_tries(const PlannedTask& task) const {
    return task.shape.max_tries > 0 ? task.shape.max_tries : faults_.max_losses;
}

void Simulation::check_ended(const engine::model::AttemptEnded& ended) {
    const std::uint64_t id = ended.task.value();
    if (final_records_[id] > 0) wrong("task " + std::to_string(id) + " ended again after its end");
    if (ended.final) ++final_records_[id];
    const bool leased = !ended.by_ticket && ended.dispatched_us > 0;
    if (leased && (ended.ready_us < ended.submitted_us || ended.ready_us > ended.dispatched_us))
        wrong("task " + std::to_string(id) + " was ready before its submission or after its dispatch");
    const auto& start_time = plan_.tasks[id].shape.not_before;
    if (leased && start_time && ended.ready_us < *start_time)
        wrong("task " + std::to_string(id) + " was ready before its time");
    last_attempt_[id] = std::max(last_attempt_[id], ended.attempt);
    if (ended.outcome.ending == engine::model::Ending::worker_lost) ++losses_[id];
    if (ended.outcome.ending == engine::model::Ending::out_of_memory) ++counts_.exhausted, ++exhausted_[id];
    if (ended.outcome.ending == engine::model::Ending::too_slow) ++counts_.aborted, ++aborted_[id];
    // One task must be the one that fails.
    if (ended.final && ended.outcome.exit_code == broken_exit) plan_.tasks[id].late = true;
    if (ended.out_of_tries) ++counts_.spent;
    if (ended.out_of_tries && !ended.final) wrong("task " + std::to_string(id) + " goes on without tries");
    if (ended.out_of_tries && losses_[id] + exhausted_[id] + aborted_[id] < most_tries(plan_.tasks[id]))
        wrong("task " + std::to_string(id) + " has tries left");
    const auto& end_time = plan_.tasks[id].shape.not_after;
    if (ended.outcome.ending == engine::model::Ending::expired) {
        ++counts_.expired;
        if (!end_time || now().wall < *end_time) wrong("task " + std::to_string(id) + " expired too early");
    }
    if (ended.final && end_time && !ended.outcome.succeeded()) plan_.tasks[id].late = true;
}

// ---- the run
// --------------------------------------------------------------------------------------------------------

std::string Simulation::run() {
    Instant fed = now_;
    for (std::uint64_t index = 0; index < plan_.tasks.size(); ++index) {
        if (chance(random_, 0.1)) fed += up_to(random_, 5s);
        at(fed, [this, index] { feed(index); });
    }
    at(fed, [this] { tell_manager(engine::model::InputEnded{}); });
    for (std::uint32_t id = 0; id < plan_.workers.size(); ++id)
        later(plan_.workers[id].joins_after, [this, id] { be_born(id); });
    make_faults();
    for (const engine::model::CategorySet& category : plan_.categories) tell_manager(category);
    if (!plan_.categories.empty())
        for (int change = 0; change < 3; ++change) later(up_to(random_, 60s), [this] { change_category(); });
    if (faults_.limits)
        for (int change = 0; change < 4; ++change) later(up_to(random_, 60s), [this] { change_limit(); });
    if (faults_.slow > 0 && !faults_.copies) tell_manager(engine::model::FastAbortSet{CategoryId(0), 2});
    if (faults_.proportional)
        for (int change = 0; change < 3; ++change) later(up_to(random_, 60s), [this] { change_rules(); });
    if (faults_.copies) tell_manager(engine::model::Tuned{std::nullopt, std::nullopt, 2});
    if (faults_.copies && chance(random_, 0.5)) tell_manager(engine::model::FastAbortSet{CategoryId(0), 4});
    if (faults_.stop)
        later(up_to(random_, 60s), [this] {
            tell_manager(engine::model::StopRequested{*faults_.stop, up_to(random_, 10s)});
        });

    std::uint64_t ticks_at_once = 0;
    while (!finished_ && wrong_.empty()) {
        if (counts_.events > most_events) return "no end in sight; it waits for " + reactor_.waiting_for();
        const auto wakeup = reactor_.wakeup();
        if (wakeup && (agenda_.empty() || *wakeup <= agenda_.begin()->first)) {
            ticks_at_once = *wakeup <= now_ ? ticks_at_once + 1 : 0;
            if (ticks_at_once > 10) return "it asks for the same tick again and again";
            now_ = std::max(now_, *wakeup);
            tell_manager(engine::model::Tick{});
            continue;
        }
        if (agenda_.empty()) return "nothing will ever happen; it waits for " + reactor_.waiting_for();
        auto next = agenda_.extract(agenda_.begin());
        now_ = std::max(now_, next.key());
        next.mapped()();
    }
    counts_.stale = reactor_.stale_reports();
    if (wrong_.empty()) check_end();
    return wrong_;
}

void Simulation::check_end() {
    const engine::model::Ledger& ledger = reactor_.ledger();
    const std::vector<TaskState> verdict = plan_.verdict();
    if (finished_->stopped.has_value() && !faults_.stop && !faults_.halt_on_failure)
        wrong("it stopped by itself");
    if (finished_->code == ExitCode::unreachable) wrong("it gave up its workers");
    bool all_done = true;
    for (std::uint64_t id = 0; id < ledger.size(); ++id) {
        const PlannedTask& task = plan_.tasks[id];
        const TaskState state = ledger.state(TaskId(id));
        const std::string name = "task " + std::to_string(id) + " is " + engine::model::name_of(state);
        all_done = all_done && (state == TaskState::done || state == TaskState::cancelled);
        const bool ended_here =
            (state == TaskState::done || state == TaskState::failed) && task.before == TaskState::blocked;
        if (final_records_[id] != (ended_here ? 1U : 0U))
            wrong(name + " with " + std::to_string(final_records_[id]) + " final records");
        if (task.before != TaskState::blocked && runs_[id] > 0)
            wrong(name + " and was run although an earlier run ended it");
        if (finished_->stopped && !engine::model::is_final(state)) continue;
        // A task may fail without being to blame because its worker is lost too often, and the tasks that
        // wait for it are skipped: only if the faults include losses, and only after that many.
        const std::uint32_t most = most_tries(task);
        if (faults_.losses > 0 && faults_.max_losses < 10 && state != TaskState::done) {
            if (state == TaskState::failed && ended_here && verdict[id] == TaskState::done &&
                losses_[id] + exhausted_[id] < most)
                wrong(name + " after " + std::to_string(losses_[id]) + " losses");
            continue;
        }
        if (state != verdict[id]) wrong(name + ", by the plan " + engine::model::name_of(verdict[id]));
        if (task.kills_worker && state == TaskState::failed && ended_here && verdict[id] == state &&
            task.failures == 0 && faults_.losses == 0 && (losses_[id] < most || losses_[id] > most + 1))
            wrong(name + " after " + std::to_string(losses_[id]) + " losses");
    }
    if (!finished_->stopped && ledger.size() != plan_.tasks.size()) wrong("it ended before the list did");
    if (!finished_->stopped && finished_->code != (all_done ? ExitCode::ok : ExitCode::tasks_failed))
        wrong("the exit code is wrong");
}

Plan Simulation::rest() const {
    Plan rest = plan_;
    for (std::uint64_t id = 0; id < reactor_.ledger().size(); ++id) {
        const TaskState state = reactor_.ledger().state(TaskId(id));
        if (state == TaskState::done || state == TaskState::failed) rest.tasks[id].before = state;
    }
    return rest;
}

}  // namespace wq::sim

#include "engine/policies/reactor.h"

#include <algorithm>
#include <variant>

#include "engine/policies/policies.h"
#include "engine/policies/view.h"

namespace wq::engine::policies {

struct Reactor::Parts {
    Parts(const ReactorOptions& options, Now started) : shared(options, started, hooks) {}

    // ---- routes: one line an event ----

    void route(const TasksAdded& event) { policies.source.on(event); }
    void route(const BarrierAdded& event) { policies.source.on(event); }
    void route(const InputEnded& event) { policies.source.on(event); }
    void route(const WorkerJoined& event) { policies.membership.on(event); }
    void route(const WorkerHeard& event) { policies.membership.on(event); }
    void route(const WorkerDisconnected& event) { policies.membership.on(event); }
    void route(const WorkerReconnected& event) { policies.membership.on(event); }
    void route(const WorkerDraining& event) { policies.membership.on(event); }
    void route(const WorkerLeft& event) { policies.membership.on(event); }
    void route(const TaskReported& event) { policies.reports.on(event); }
    void route(const TaskGivenBack& event) { policies.reports.on(event); }
    void route(const RangeReported& event) { policies.ranges.on(event); }
    void route(const TicketsReported& event) { policies.batches.on(event); }
    void route(const CancelRequested& event) { policies.cancellation.on(event); }
    void route(const StopRequested& event) { policies.end.on(event); }
    void route(const StorageTrouble& event) { policies.end.on(event); }
    void route(const CategorySet& event) { policies.sizes.on(event); }
    void route(const FastAbortSet& event) { policies.slow.on(event); }
    void route(const HostBlocked& event) { policies.hosts.on(event); }
    void route(const HostUnblocked& event) { policies.hosts.on(event); }
    void route(const Tick&) { hooks.tick(); }
    void route(const Tuned& event) { hooks.tuned(event); }

    void follow_up();

    PolicyHooks hooks{policies};
    Shared shared;
    Policies policies{shared};
    View view{shared};
};

// Does what any event may make possible or necessary, in this order.
void Reactor::Parts::follow_up() {
    policies.batches.close_if_over();
    policies.sizes.look_at_pool();
    policies.sizes.awaken_those_with_room();
    policies.times.expire_what_is_over();
    policies.hosts.release_the_last_hosts();
    if (shared.fit.dispatches()) {
        policies.unfit.skip_all();
        policies.dispatch.end_idle_reservation();
        policies.batches.seal_where_tasks_abound();
        policies.dispatch.dispatch();
    }
    policies.sizes.note_full();
    policies.unfit.warn_of_waiting();
    policies.recalls.watch_idle_workers();
    policies.end.finish_if_over();
}

Reactor::Reactor(const ReactorOptions& options, Now started)
    : parts_(std::make_unique<Parts>(options, started)) {}
Reactor::~Reactor() = default;
Reactor::Reactor(Reactor&&) noexcept = default;
Reactor& Reactor::operator=(Reactor&&) noexcept = default;

void Reactor::on(const Event& event, Now now, std::vector<Action>& actions) {
    if (finished()) return;
    Shared& shared = parts_->shared;
    shared.event.open(now, actions);
    shared.state.ledger.advance(now.wall);
    std::visit([&](const auto& known) { parts_->route(known); }, event);
    parts_->follow_up();
    shared.event.close(actions);
}

std::optional<Instant> Reactor::wakeup() const {
    return finished() ? std::nullopt : parts_->hooks.next_due();
}

bool Reactor::finished() const {
    return parts_->policies.end.finished();
}
bool Reactor::stopping() const {
    return parts_->shared.state.run.stopping();
}
const Ledger& Reactor::ledger() const {
    return parts_->shared.state.ledger;
}
const WorkerTable& Reactor::workers() const {
    return parts_->shared.state.workers;
}
const HostBlocks& Reactor::blocked_hosts() const {
    return parts_->shared.state.blocks;
}
std::uint64_t Reactor::stale_reports() const {
    return parts_->shared.counters.stale();
}
std::uint64_t Reactor::looks() const {
    return parts_->shared.counters.looks();
}
bool Reactor::fast_abort(CategoryId category) const {
    return parts_->policies.slow.limits(category);
}
bool Reactor::holds(WorkerId worker, TaskId task, Attempt attempt) const {
    return parts_->shared.attempts.holds(worker, task, attempt);
}
bool Reactor::may_run(const Worker& worker) const {
    return !worker.leases.empty() || parts_->shared.state.may_claim(worker);
}
bool Reactor::avoids(TaskId task, const Worker& worker) const {
    return parts_->shared.state.avoided.avoids(task, worker);
}
const Category* Reactor::category(CategoryId category) const {
    return parts_->shared.state.categories.find(category);
}
std::int64_t Reactor::able_workers(CategoryId category) const {
    return parts_->policies.sizes.able_workers(category);
}
ManagerStats Reactor::stats() const {
    return parts_->view.stats();
}
ManagerStats Reactor::stats(CategoryId category) const {
    return parts_->view.stats(category);
}
std::vector<ShapeCount> Reactor::unfinished() const {
    return parts_->view.unfinished();
}
const Ask& Reactor::asked(ShapeId shape) const {
    return parts_->shared.state.asked(shape);
}
const AllocationRules& Reactor::allocation() const {
    return parts_->shared.state.options.allocation;
}
std::string Reactor::waiting_for() const {
    return parts_->view.waiting_for();
}
std::vector<WaitingTasks> Reactor::waiting() const {
    return parts_->view.waiting();
}
std::string Reactor::why(TaskId task, Now now, Attempt earlier) const {
    return parts_->view.why(task, now, earlier);
}

std::optional<std::string> Reactor::audit() const {
    const Shared& shared = parts_->shared;
    if (auto wrong = shared.state.audit()) return wrong;
    if (auto wrong = shared.attempts.audit()) return wrong;
    return parts_->hooks.audit();
}

}  // namespace wq::engine::policies

#include "engine/attempts/state.h"

namespace wq::engine::attempts {

State::State(const ReactorOptions& said, Now started)
    : options(said),
      now{started.instant, 0},
      listening(started.instant, said.silence),
      settled_at(said.expected_workers == 0 ? started.instant : started.instant + said.join_limit),
      ranks_settled_at(settled_at),
      hold_until_workers(said.hold_until_workers) {
    counters.time_when_started = started.wall;
}

void State::kill(WorkerId worker, Interval tasks, Attempt attempt) {
    if (const Worker* it = workers.find(worker); it != nullptr && !it->disconnected())
        act(Kill{worker, tasks, attempt});
}

void State::revoke_batch() {
    if (!batch || batch->revoked) return;
    batch->revoked = true;
    for (const WorkerId member : batch->members) workers.changed(*workers.find(member));
    act(Revoke{batch->id});
}

CategoryState& State::category(CategoryId category) {
    if (category.value() >= categories.size()) categories.resize(category.value() + 1);
    return categories[category.value()];
}

void State::awaken(const CategoryState& category) {
    for (const ShapeId shape : category.shapes)
        if (!ledger.ready(shape).empty()) awakened.push_back(shape);
}

void State::start_dispatching_to(const Worker& worker) {
    ++pool_version;
    if (worker.takes_tickets) ticket_ranks.insert(worker.id);
}

void State::stop_dispatching_to(const Worker& worker) {
    ticket_ranks.erase(worker.id);
    ++pool_version;
    if (reserved && reserved->worker == worker.id) reserved.reset();
}

std::optional<std::string> State::audit() const {
    if (auto wrong = ledger.audit()) return wrong;
    if (auto wrong = workers.audit()) return wrong;
    std::uint64_t leases = 0;
    for (const auto& [id, worker] : workers.all()) {
        Resources used;
        for (const TaskId task : worker.leases) {
            const Attempted* attempted = ledger.find_attempted(task);
            const Copy* copy = copies.at(id, task);
            if (attempted == nullptr || !attempted->leased || (attempted->worker != id && copy == nullptr))
                return "worker " + std::to_string(id.value()) + " holds task " +
                       std::to_string(task.value()) + ", which is " + name_of(ledger.state(task));
            used += copy != nullptr ? copy->given : attempted->given;
        }
        if (used != worker.used)
            return "worker " + std::to_string(id.value()) + " uses " + describe(worker.used);
        leases += worker.leases.size();
    }
    if (leases != ledger.count(TaskState::leased) + copies.size()) return "a leased task has no worker";
    for (std::uint64_t id = 0; id < ledger.size(); ++id) {
        const TaskState state = ledger.state(TaskId(id));
        if (!is_final(state) && (state == TaskState::blocked) != groups.blocked(TaskId(id)))
            return "task " + std::to_string(id) + " is " + name_of(state) + ", its groups disagree";
    }
    return std::nullopt;
}

}  // namespace wq::engine::attempts

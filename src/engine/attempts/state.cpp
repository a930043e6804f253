#include "engine/attempts/state.h"

namespace wq::engine::attempts {

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

#include "engine/model/copy_table.h"

namespace wq::engine::model {

const Copy* CopyTable::find_known(TaskId task) const {
    const auto found = copies_.find(task);
    return found == copies_.end() ? nullptr : &found->second;
}

std::optional<Copy> CopyTable::take(TaskId task) {
    const auto found = copies_.find(task);
    if (found == copies_.end()) return std::nullopt;
    return copies_.extract(found).mapped();
}

std::optional<std::string> CopyTable::audit(const Ledger& ledger, const WorkerTable& workers) const {
    for (const auto& [task, copy] : copies_) {
        const std::string name = "the copy of task " + std::to_string(task.value());
        const Attempted* first = ledger.find_attempted(task);
        if (first == nullptr || !first->leased) return name + " is alone";
        if (first->worker == copy.worker) return name + " is at the same worker";
        if (copy.attempt <= first->attempt || copy.attempt > first->last)
            return name + " is no attempt of its own";
        const Worker* worker = workers.find(copy.worker);
        if (worker == nullptr || !worker->leases.contains(task)) return name + " is not at its worker";
    }
    return std::nullopt;
}

}  // namespace wq::engine::model

// Second attempts of tasks that run twice (speculative copies). The ledger knows one attempt per task, this
// table the other. They have different numbers, so a report belongs to one of them or is stale.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "engine/model/ledger.h"
#include "engine/model/worker_table.h"

namespace wq::engine::model {

struct Copy {
    WorkerId worker;
    Attempt attempt = 0;
    Resources given;
    Instant since;
    WallMicros dispatched_us = 0;
};

class CopyTable {
  public:
    void add_copy(TaskId task, const Copy& copy) { copies_.emplace(task, copy); }
    std::optional<Copy> take(TaskId task);  // and removes it
    const Copy* find(TaskId task) const { return copies_.empty() ? nullptr : find_known(task); }
    // The task's copy if it is at that worker; else null.
    const Copy* at(WorkerId worker, TaskId task) const {
        const Copy* const copy = find(task);
        return copy != nullptr && copy->worker == worker ? copy : nullptr;
    }
    bool contains(TaskId task) const { return find(task) != nullptr; }
    std::size_t size() const { return copies_.size(); }

    std::optional<std::string> audit(const Ledger& ledger, const WorkerTable& workers) const;

  private:
    const Copy* find_known(TaskId task) const;

    std::map<TaskId, Copy> copies_;
};

}  // namespace wq::engine::model

// What those who look at a run see of its tasks: lines of the list by their number, items of an array by
// their index.
#pragma once

#include "manager/manager.h"
#include "manager/task_table.h"
#include "manager/status/lister.h"

namespace wq::cli {

class RunQueue final : public status::Queue {
  public:
    // All outlive it.
    RunQueue(status::QueueOfStatus described, const manager::Manager& manager,
             const manager::TaskTable& tasks, core::Now started)
        : described_(std::move(described)), manager_(manager), tasks_(tasks), started_(started) {}

    status::QueueOfStatus described() const override { return described_; }
    core::ManagerStats stats() const override;
    std::optional<status::TaskOfStatus> task(TaskId task) const override;

  private:
    const status::QueueOfStatus described_;
    const manager::Manager& manager_;
    const manager::TaskTable& tasks_;
    const core::Now started_;
};

}  // namespace wq::cli

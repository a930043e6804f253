// What those who look at a run see of its tasks: lines of the list by their number, items of an array by
// their index.
#pragma once

#include "manager/manager.h"
#include "manager/status/lister.h"
#include "manager/task_table.h"

namespace wq::programs::run {

class RunQueue final : public manager::status::Queue {
  public:
    // All outlive it.
    RunQueue(manager::status::QueueOfStatus described, const manager::Manager& manager,
             const manager::TaskTable& tasks, engine::model::Now started)
        : described_(std::move(described)), manager_(manager), tasks_(tasks), started_(started) {}

    manager::status::QueueOfStatus described() const override { return described_; }
    engine::model::ManagerStats stats() const override;
    std::optional<manager::status::TaskOfStatus> task(TaskId task) const override;

  private:
    const manager::status::QueueOfStatus described_;
    const manager::Manager& manager_;
    const manager::TaskTable& tasks_;
    const engine::model::Now started_;
};

}  // namespace wq::programs::run

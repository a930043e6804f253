// What those who look at a program's queue see of it besides what its manager knows.
#pragma once

#include "program_manager/program_recorder.h"
#include "program_manager/submitted_tasks.h"
#include "status/lister.h"

namespace wq::program_manager {

// `id`: by which the program knows the task. For its own listings, with what it requests.
status::TaskOfStatus named(std::int64_t id, const TaskData& task);

// On the manager's thread.
class ProgramQueue final : public status::Queue {
  public:
    ProgramQueue(SubmittedTasks& tasks, const ProgramRecorder& recorder, core::Now started)
        : tasks_(tasks), recorder_(recorder), started_(started) {}

    void describe(status::QueueOfStatus described) { described_ = std::move(described); }
    void list(manager::Manager& manager);  // to those who ask it

    status::QueueOfStatus described() const override { return described_; }
    core::ManagerStats stats() const override;
    std::optional<status::TaskOfStatus> task(TaskId task) const override;

  private:
    SubmittedTasks& tasks_;
    const ProgramRecorder& recorder_;
    const core::Now started_;
    status::QueueOfStatus described_;
    const manager::Manager* manager_ = nullptr;
    std::optional<status::Lister> lister_;
};

}  // namespace wq::program_manager

// What those who look at a program's queue see of it besides what its manager knows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/program_recorder.h"
#include "api/submitted_tasks.h"
#include "manager/status/lister.h"
#include "work_queue/manager.h"

namespace wq::api {

// `id`: by which the program knows the task. For its own listings, with what it requests.
manager::status::TaskOfStatus named(std::int64_t id, const TaskData& task);

manager::status::QueueOfStatus described(const ManagerOptions& options, int port);

// On the manager's thread.
class ProgramQueue final : public manager::status::Queue {
  public:
    ProgramQueue(SubmittedTasks& tasks, const ProgramRecorder& recorder, engine::model::Now started)
        : tasks_(tasks), recorder_(recorder), started_(started) {}

    void describe(manager::status::QueueOfStatus described);
    // To those who ask the manager, and by `announce`, which may be empty.
    void list(manager::Manager& manager, manager::status::Announcing::Announce announce);
    // Or not, to those who ask the manager.
    void list_to_others(manager::Manager& manager, bool on);
    // Each turn of the loop. Returns when to call it next.
    std::optional<Instant> announce(const engine::model::ManagerStats& stats, Instant now) {
        return announcing_->announce_if_due(stats, now);
    }

    manager::status::QueueOfStatus described() const override { return described_; }
    engine::model::ManagerStats stats() const override;
    std::optional<manager::status::TaskOfStatus> task(TaskId task) const override;

  private:
    SubmittedTasks& tasks_;
    const ProgramRecorder& recorder_;
    const engine::model::Now started_;
    manager::status::QueueOfStatus described_;
    const manager::Manager* manager_ = nullptr;
    std::optional<manager::status::Lister> lister_;
    std::optional<manager::status::Announcing> announcing_;
};

// A program's own listing of its queue, for C and Python.

// Tasks of the program, in any order, with their ids at the manager.
using TasksOfProgram = std::vector<std::pair<std::int64_t, manager::status::TaskOfStatus>>;

// An array of records; `what` is none of the shapes.
std::string status_as_json(net::messages::StatusOf what, const Manager& manager,
                           manager::status::QueueOfStatus queue, TasksOfProgram tasks);

}  // namespace wq::api

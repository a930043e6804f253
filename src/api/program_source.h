// The manager's loop reads a program's tasks here: its queue of submissions and requests.
#pragma once

#include <string>
#include <vector>

#include "api/command_queue.h"
#include "api/program_categories.h"
#include "api/program_recorder.h"
#include "api/submitted_tasks.h"
#include "manager/run/source.h"

namespace wq::api {

class ProgramSource : public manager::run::Source {
  public:
    ProgramSource(CommandQueue& queue, SubmittedTasks& tasks, ProgramRecorder& recorder,
                  ProgramCategories& categories)
        : queue_(queue), tasks_(tasks), recorder_(recorder), categories_(categories) {}

    int descriptor() const override { return queue_.descriptor(); }
    bool has_more() override { return queue_.has_more(); }
    bool paced() const override { return false; }  // requests must get through, however many tasks wait
    Status read(manager::Manager& manager, engine::model::Now now) override;
    bool ended() const override { return false; }
    std::string name() const override { return "the program"; }

    // ---- after a failure of the manager ----

    void drop_requests() noexcept;
    // Takes the unread submissions, although no manager will know them.
    void keep_tasks();

  private:
    void submit(std::unique_ptr<TaskData>& task, manager::Manager& manager, engine::model::Now now);
    void flush(manager::Manager& manager, engine::model::Now now);
    bool like_the_last(const TaskData& task) const;

    CommandQueue& queue_;
    SubmittedTasks& tasks_;
    ProgramRecorder& recorder_;
    ProgramCategories& categories_;
    std::vector<CommandQueue::Command> commands_;
    engine::model::TaskRange range_{
        {}, 0, {}, {}};  // adjacent tasks of one shape, not yet passed to the manager
    // The shape of plain tasks follows from these.
    bool plain_ = false;
    std::string category_;
    std::string function_;  // empty: commands
};

}  // namespace wq::api

// The manager's loop reads a program's tasks here: its queue of submissions and requests.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/command_queue.h"
#include "api/program_categories.h"
#include "api/program_recorder.h"
#include "api/results.h"
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

// Unfinished tasks of a failed manager. The program gets them back one by one, as forsaken, so that a program
// that waits until its manager is empty ends. Nothing here needs memory before the failure.

// Callable on any thread. Empty until begin().
class UnfinishedTasks {
  public:
    UnfinishedTasks(SubmittedTasks& tasks, ProgramSource& source, const CommandQueue& queue, Results& results)
        : tasks_(tasks), source_(source), queue_(queue), results_(results) {}

    // The manager's thread has failed and no longer uses any of this.
    void begin() noexcept;

    // Null: none. `tag`: only tasks with this tag; "": tasks without one.
    std::unique_ptr<TaskData> next(const std::string* tag = nullptr);
    std::unique_ptr<TaskData> take(std::int64_t id);  // any id of a range finds the range
    std::vector<std::unique_ptr<TaskData>> take_category(const std::string* category);  // null: of all
    bool has(std::int64_t id);

  private:
    bool update_tasks();
    std::unique_ptr<TaskData> give_back(TaskData* task);

    SubmittedTasks& tasks_;
    ProgramSource& source_;
    const CommandQueue& queue_;
    Results& results_;
    std::mutex mutex_;
    bool begun_ = false;
    std::int64_t next_ = 1;  // lower ids were given back, or ended before
};

}  // namespace wq::api

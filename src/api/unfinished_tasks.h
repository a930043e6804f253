// Unfinished tasks of a failed manager. The program gets them back one by one, as forsaken, so that a program
// that waits until its manager is empty ends. Nothing here needs memory before the failure.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/command_queue.h"
#include "api/program_source.h"
#include "api/results.h"
#include "api/submitted_tasks.h"

namespace wq::api {

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
    bool look();
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

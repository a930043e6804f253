// What a manager that failed leaves undone: the program gets it back task by task, as forsaken, so that a
// program that waits until its manager is empty comes to its end. Nothing here needs memory before that.
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

// On any thread. Until begin() there is none.
class UnfinishedTasks {
  public:
    UnfinishedTasks(SubmittedTasks& tasks, ProgramSource& source, const CommandQueue& queue, Results& results)
        : tasks_(tasks), source_(source), queue_(queue), results_(results) {}

    // The manager's thread has failed, and uses nothing of this any more.
    void begin() noexcept;

    // Null: there is none. `tag`: of this tag only; "": of tasks without one.
    std::unique_ptr<TaskData> next(const std::string* tag = nullptr);
    std::unique_ptr<TaskData> take(std::int64_t id);  // of any id of a range: the range
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
    std::int64_t next_ = 1;  // ids below were given back, or ended before
};

}  // namespace wq::api

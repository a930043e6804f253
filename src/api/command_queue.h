// From the program's threads to the manager's: submissions and requests, in order. The manager is woken only
// where it may sleep, so that submitting costs a lock and no system call while it is busy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "api/task_data.h"
#include "base/descriptor.h"

namespace wq::api {

class CommandQueue {
  public:
    using Request = std::function<void()>;  // runs on the manager's thread
    using Command = std::variant<std::unique_ptr<TaskData>, Request>;

    CommandQueue();

    // The first id of the task, from 1; 0: the manager takes nothing more.
    std::int64_t submit(std::unique_ptr<TaskData> task);
    // Runs `request` on the manager's thread and waits until it has. False: the manager takes nothing more.
    bool ask(Request request);
    // Tasks submitted so far, calls of ranges each for itself.
    std::int64_t submitted() const;
    // Takes nothing more from now on; what is here already will be taken.
    void close();

    // ---- the manager's thread ----
    int descriptor() const { return descriptor_.get(); }
    // Before a wait: whether something is here. After a no, what comes makes the descriptor readable.
    bool has_more();
    // Appends all that is here.
    void take(std::vector<Command>& commands);

  private:
    void put(Command command);  // with the lock

    mutable std::mutex mutex_;
    std::vector<Command> waiting_;
    std::int64_t next_id_ = 1;
    bool asleep_ = false;
    bool woken_ = false;
    bool closed_ = false;
    Descriptor descriptor_;
};

}  // namespace wq::api

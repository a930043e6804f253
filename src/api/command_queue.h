// From the program's threads to the manager's: submissions and requests, in order. The manager is woken only
// where it may sleep, so that submitting costs a lock and no system call while it is busy.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/task_data.h"
#include "base/descriptor.h"

namespace wq::api {

// A request of a thread of the program. That thread waits until the request has run or was dropped.
class Asked {
  public:
    explicit Asked(std::function<void()> request) : request_(std::move(request)) {}
    ~Asked() {
        if (!answered_) answer_.set_value(false);
    }
    Asked(const Asked&) = delete;

    std::future<bool> answer() { return answer_.get_future(); }  // whether it has run
    // Throws what the request throws; answer() throws it, too.
    void run();

  private:
    std::function<void()> request_;
    std::promise<bool> answer_;
    bool answered_ = false;
};

class CommandQueue {
  public:
    using Command = std::variant<std::unique_ptr<TaskData>, std::unique_ptr<Asked>>;

    CommandQueue();

    // The first id of the task, from 1; 0: the manager takes nothing more.
    std::int64_t submit(std::unique_ptr<TaskData> task);
    // Runs `request` on the manager's thread and waits until it has. False: the manager takes nothing more.
    // Throws what the request throws, which ends the manager, too.
    bool ask(std::function<void()> request);
    // Tasks submitted so far, calls of ranges each for itself.
    std::int64_t submitted() const;
    // Takes nothing more from now on; what is here already will be taken. `why`: the manager has failed.
    void close(std::string_view why = {}) noexcept;
    // One line: that the manager has ended, and why if it failed.
    std::string why_closed() const;

    // ---- the manager's thread ----
    int descriptor() const { return descriptor_.get(); }
    // Before a wait: whether something is here. After a no, what comes makes the descriptor readable.
    bool has_more();
    // Appends all that is here.
    void take(std::vector<Command>& commands);
    // Those who wait for what they asked for wait no longer. It is not run.
    void drop_requests() noexcept;

    static void drop_requests_of(std::vector<Command>& commands) noexcept {
        for (Command& command : commands)
            if (auto* asked = std::get_if<std::unique_ptr<Asked>>(&command)) asked->reset();
    }

  private:
    void put(Command command);  // with the lock

    mutable std::mutex mutex_;
    std::vector<Command> waiting_;
    std::int64_t next_id_ = 1;
    bool asleep_ = false;
    bool woken_ = false;
    bool closed_ = false;
    std::string why_closed_{"the manager has ended"};
    Descriptor descriptor_;
};

}  // namespace wq::api

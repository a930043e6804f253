// Carries submissions and requests, in order, from the program's threads to the manager's thread. It wakes
// the manager only if that may sleep, so submitting to a busy manager costs a lock and no system call.
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
#include "base/wake.h"

namespace wq::api {

// A request of a program's thread. The thread waits until the request has run or was dropped.
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

    // Returns the first id of the task, from 1; 0: the manager accepts nothing more.
    std::int64_t submit(std::unique_ptr<TaskData> task);
    // Runs `request` on the manager's thread and waits for it. False: the manager accepts nothing more.
    // Throws what the request throws, which also ends the manager.
    bool ask(std::function<void()> request);
    // Tasks submitted so far; each call of a range counts.
    std::int64_t submitted() const;
    // Accepts nothing more; queued items will still be taken.
    void close() noexcept;
    // As close(), because the manager has failed. `why`: one line.
    void fail(std::string_view why) noexcept;
    // One line: the manager has ended, and why if it failed.
    std::string why_closed() const;
    std::string failure() const;  // why_closed() after fail(), else ""

    // ---- the manager's thread ----
    int descriptor() const { return wake_.descriptor(); }
    // Called before a wait: whether the queue has items. If not, a new item makes the descriptor readable.
    bool has_more();
    // Appends all queued items.
    void take(std::vector<Command>& commands);
    // Releases the threads that wait for a request, without running it.
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
    bool failed_ = false;
    std::string why_closed_{"the manager has ended"};
    Wake wake_;
};

}  // namespace wq::api

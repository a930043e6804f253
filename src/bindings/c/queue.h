// A queue of a C program. Its manager starts with the first call that needs it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/deferred_manager.h"
#include "api/tuning.h"
#include "bindings/c/guard.h"
#include "bindings/c/task_box.h"
#include "cctools/work_queue.h"
#include "work_queue/manager.h"

struct work_queue : wq::bindings::c::Quarantined<work_queue, 64> {
    work_queue(wq::ManagerOptions given, wq::api::HeldPort held);
    ~work_queue();
    work_queue(const work_queue&) = delete;
    // Ends the manager; the queue must not be used afterwards.
    void end();
    bool ours() const { return deferred_.ours(); }

    // Returns the manager and starts it if needed; null: it could not start, and a line on stderr has said
    // why.
    wq::Manager* serving();
    bool begun() const { return deferred_.begun(); }
    // Runs it at once if the manager is running, otherwise when it starts.
    void order(std::function<void(wq::Manager&)> what) { deferred_.order(std::move(what)); }

    // Returns the id; 0: refused, and `refusal` says why.
    int submit(wq::bindings::c::TaskBox& box, std::string& refusal);
    wq::bindings::c::TaskBox* wait(int timeout, const std::string* tag);
    // Same with an exact time; null at once if there is no such task.
    wq::bindings::c::TaskBox* wait_at_most(std::chrono::milliseconds limit, const std::string* tag);
    // Takes the result of a cancelling function; returns null for nothing.
    wq::bindings::c::TaskBox* take_back(const std::optional<wq::Task>& ended);
    bool empty() const { return tasks.empty(); }

    wq::ManagerOptions& options() { return deferred_.options; }  // used until the manager starts
    wq::Status specify(const std::function<void(wq::ManagerOptions&)>& change) {
        return deferred_.specify(change);
    }
    const wq::ManagerOptions& options() const { return deferred_.options; }
    int port() const { return deferred_.port(); }
    wq::api::Tuning tuning;        // checks the names
    bool ends_slow_tasks = false;  // for categories without a setting of their own
    wq::api::Numbering ids;
    std::unordered_map<std::int64_t, wq::bindings::c::TaskBox*>
        tasks;  // all tasks in the queue, by the manager's ids
    // Called before the manager ends; the key is the object that uses it.
    std::unordered_map<const void*, std::function<void()>> users;

  private:
    wq::bindings::c::TaskBox* forsake_one(const std::string* tag);
    void wait_in_vain(int timeout);
    wq::bindings::c::TaskBox* remove(std::int64_t id);

    wq::api::DeferredManager deferred_;
};

namespace wq::bindings::c {

// Returns the queue of a pointer; null, with a line on stderr: it is NULL, or deleted.
work_queue* queue_of(const char* function, const work_queue* queue);
// Same, but also null once its manager has started.
work_queue* queue_to_specify(const char* function, work_queue* queue);
// Returns its manager and starts it if needed; null: there is none.
Manager* manager_of(const char* function, work_queue* queue);

}  // namespace wq::bindings::c

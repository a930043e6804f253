// A queue of a C program. Its manager starts with the first call that needs it, because a C program sets
// passwords and logs one by one, but wq::Manager takes them all at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capi/cctools/work_queue.h"
#include "capi/numbering.h"
#include "capi/quarantine.h"
#include "capi/task_box.h"
#include "program_manager/listening.h"
#include "program_manager/tuning.h"
#include "work_queue/manager.h"

struct work_queue : wq::capi::Quarantined<work_queue, 64> {
    work_queue(wq::ManagerOptions given, wq::program_manager::HeldPort held);
    ~work_queue();
    work_queue(const work_queue&) = delete;
    // Ends the manager; the queue must not be used afterwards.
    void end();
    int process() const { return process_; }  // the process that created it

    // Returns the manager and starts it if needed; null: it could not start, and a line on stderr has said
    // why.
    wq::Manager* serving();
    bool begun() const { return manager_ || !why_not_.empty(); }
    // Runs it at once if the manager is running, otherwise when it starts.
    void order(std::function<void(wq::Manager&)> what);

    // Returns the id; 0: refused, and `refusal` says why.
    int submit(wq::capi::TaskBox& box, std::string& refusal);
    wq::capi::TaskBox* wait(int timeout, const std::string* tag);
    // Takes the result of a cancelling function; returns null for nothing.
    wq::capi::TaskBox* take_back(const std::optional<wq::Task>& ended);
    bool empty() const { return tasks.empty(); }

    wq::ManagerOptions options;  // used until the manager starts
    int port = 0;
    wq::program_manager::Tuning tuning;  // checks the names
    int priority = 0;
    bool ends_slow_tasks = false;  // for categories without a setting of their own
    wq::capi::Numbering ids;
    std::unordered_map<std::int64_t, wq::capi::TaskBox*>
        tasks;  // all tasks in the queue, by the manager's ids
    // Called before the manager ends; the key is the object that uses it.
    std::unordered_map<const void*, std::function<void()>> users;

  private:
    void begin();
    wq::capi::TaskBox* forsake_one(const std::string* tag);
    void wait_in_vain(int timeout);
    wq::capi::TaskBox* remove(std::int64_t id);

    wq::program_manager::HeldPort held_;
    std::vector<std::function<void(wq::Manager&)>> orders_;
    std::deque<std::pair<std::int64_t, wq::Task>> waiting_;  // until the manager starts
    std::unique_ptr<wq::Manager> manager_;
    int process_;                // the process that created it, later the one in which it started
    std::atomic<int> waits_{0};  // calls now waiting in it
    std::string why_not_;        // why the manager could not start
};

namespace wq::capi {

// Returns the queue of a pointer; null, with a line on stderr: it is NULL, or deleted.
work_queue* queue_of(const char* function, const work_queue* queue);
// Same, but also null once its manager has started.
work_queue* queue_to_specify(const char* function, work_queue* queue);
// Returns its manager and starts it if needed; null: there is none.
Manager* manager_of(const char* function, work_queue* queue);

}  // namespace wq::capi

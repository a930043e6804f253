// A queue of a C program. Its manager starts with the first call that needs it: a C program sets passwords
// and logs one by one, but wq::Manager takes them all at once.
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

#include "api/listening.h"
#include "api/tuning.h"
#include "capi/cctools/work_queue.h"
#include "capi/numbering.h"
#include "capi/quarantine.h"
#include "capi/task_box.h"
#include "work_queue/manager.h"

struct work_queue : wq::capi::Quarantined<work_queue, 64> {
    work_queue(wq::ManagerOptions given, wq::api::HeldPort held);
    ~work_queue();
    work_queue(const work_queue&) = delete;
    // Of its manager; it is not to be used any more.
    void end();
    int process() const { return process_; }  // that made it

    // The manager, which begins by that; null: it could not, and a line on stderr has said why.
    wq::Manager* serving();
    bool begun() const { return manager_ || !why_not_.empty(); }
    // At once where the manager is there, else when it begins.
    void order(std::function<void(wq::Manager&)> what);

    // The id; 0: refused, and `refusal` says why.
    int submit(wq::capi::TaskBox& box, std::string& refusal);
    wq::capi::TaskBox* wait(int timeout, const std::string* tag);
    // What a cancelling function has given back; null for nothing.
    wq::capi::TaskBox* take_back(const std::optional<wq::Task>& ended);
    bool empty() const { return tasks.empty(); }

    wq::ManagerOptions options;  // until it begins
    int port = 0;
    wq::api::Tuning tuning;  // knows the names
    int priority = 0;
    bool ends_slow_tasks = false;  // where a category has not said so itself
    wq::capi::Numbering ids;
    std::unordered_map<std::int64_t, wq::capi::TaskBox*> tasks;  // all that it has, by the manager's ids

  private:
    void begin();
    wq::capi::TaskBox* forsake_one(const std::string* tag);
    void wait_in_vain(int timeout);
    wq::capi::TaskBox* remove(std::int64_t id);

    wq::api::HeldPort held_;
    std::vector<std::function<void(wq::Manager&)>> orders_;
    std::deque<std::pair<std::int64_t, wq::Task>> waiting_;  // for the manager
    std::unique_ptr<wq::Manager> manager_;
    int process_;                // whose it is: that made it, then in which it began
    std::atomic<int> waits_{0};  // calls that wait in it
    std::string why_not_;        // it could not begin
};

namespace wq::capi {

// The queue of a pointer; null, and a line on stderr: it is NULL, or deleted.
work_queue* queue_of(const char* function, const work_queue* queue);
// The same; null as well once it has begun.
work_queue* queue_to_specify(const char* function, work_queue* queue);
// Its manager, which begins by that; null: there is none.
Manager* manager_of(const char* function, work_queue* queue);

}  // namespace wq::capi

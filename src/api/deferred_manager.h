// A manager that starts with the first call that needs it. Programs in C, Perl and Python set passwords,
// names and logs one by one, but Manager takes them all at once. The port listens from the beginning, so
// workers that connect early wait for the manager.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/listening.h"
#include "work_queue/manager.h"

namespace wq::api {

class DeferredManager {
  public:
    // options.listen: false if `held` has no sockets.
    DeferredManager(ManagerOptions given, api::HeldPort held);
    ~DeferredManager() { end(); }
    DeferredManager(const DeferredManager&) = delete;
    DeferredManager& operator=(const DeferredManager&) = delete;

    ManagerOptions options;  // used until the manager starts
    // Changes name, password or logs; a running manager takes them, too. Error: it has none, or refuses.
    Status specify(const std::function<void(ManagerOptions&)>& change);
    int port() const { return port_; }

    // Returns the manager and starts it if needed; null: why_not() says why it could not.
    Manager* serving();
    bool begun() const { return manager_ || !why_not_.empty(); }
    std::string why_not() const;
    // The process that may use it: the one that made it, later the one in which it started.
    bool ours() const;

    // Runs it at once if the manager is running, otherwise when it starts.
    // No effect if it has ended, or belongs to another process.
    void order(std::function<void(Manager&)> what);
    // Returns the manager's id; 0: refused, and `refusal` says why. Makes the manager's checks now, with the
    // paths of this moment, and starts nothing.
    std::int64_t submit(const Task& task, std::string& refusal);
    // Takes one of the tasks that no manager will ever have, because it could not start, so that a program
    // ends that waits until its queue is empty. `tag`: null for any.
    std::optional<Task> forsake_one(const std::string* tag);

    // Takes the manager, so that it ends when the last holder drops it; null: none runs in this process. No
    // later call finds it. For programs whose other threads may be waiting in it.
    std::shared_ptr<Manager> leave();
    // The same while it runs: for a call that must not find it destroyed. Null: it does not run.
    std::shared_ptr<Manager> shared() const { return manager_; }

    // Exists while a call waits in the manager.
    class Waiting {
      public:
        explicit Waiting(DeferredManager& of) : waits_(of.waits_) { ++waits_; }
        ~Waiting() { --waits_; }
        Waiting(const Waiting&) = delete;

      private:
        std::atomic<int>& waits_;
    };

    // Ends the manager. A forked process has its memory, but not its thread. A manager that a call waits for
    // is not destroyed either: exit() in a signal handler or in another thread would wait for that call.
    void end();

  private:
    void begin();

    int port_;
    api::HeldPort held_;
    std::vector<std::function<void(Manager&)>> orders_;
    std::deque<std::pair<std::int64_t, Task>> waiting_;  // until the manager starts
    std::int64_t submitted_ = 0;
    std::shared_ptr<Manager> manager_;
    int process_;
    std::atomic<int> waits_{0};
    std::string why_not_;  // why the manager could not start, or that it has ended
};

// Maps ids of a queue's tasks, which a program may start higher, to ids of its manager, which start at 1.
class Numbering {
  public:
    // The next task's id; 0: no ids are left.
    int next() const { return next_; }
    std::int64_t count() const { return taken_; }
    void take() { next_ = next_ == INT_MAX ? 0 : next_ + 1, ++taken_; }
    // The next id is at least this.
    void at_least(int id) {
        if (next_ == 0 || id <= next_) return;
        next_ = id;
        shifts_[id] = id - taken_ - 1;
    }
    // The manager's id; nothing: no task has had this id.
    std::optional<std::int64_t> of_manager(int id) const {
        const auto after = shifts_.upper_bound(id);
        if (id < 1 || (next_ != 0 && id >= next_) || after == shifts_.begin()) return std::nullopt;
        const std::int64_t found = id - std::prev(after)->second;
        // Skipped ids belong to no task; the next range of ids begins where they would map.
        if (after != shifts_.end() && found > after->first - after->second - 1) return std::nullopt;
        return found;
    }

  private:
    int next_ = 1;
    std::int64_t taken_ = 0;
    std::map<int, std::int64_t> shifts_{{1, 0}};  // from this id on: its difference from the manager's id
};

}  // namespace wq::api

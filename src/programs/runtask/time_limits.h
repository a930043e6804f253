// Kills lines that run for too long, also on another thread, because the worker may wait for the list
// meanwhile.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/time.h"
#include "programs/runtask/task_key.h"
#include "programs/runtask/task_processes.h"

namespace wq::programs::runtask {

class TimeLimits {
  public:
    // `limit`: nullopt: none.
    void begin(TaskKey key, std::optional<Instant> limit, std::unique_ptr<LineProcesses> processes);
    // Its limit is now or, if it has not begun, when it begins.
    void end_now(TaskKey key);
    // The line has ended; what is left of one that ran for too long is killed. Returns whether it did.
    bool end(TaskKey key);

    // Kills what is due. A line that has ended, unnoticed so far, ended in time.
    void enforce(Instant now);
    std::optional<Instant> next() const;

  private:
    struct Limited {
        std::optional<Instant> limit;
        std::unique_ptr<LineProcesses> processes;
        bool exceeded = false;
    };
    mutable std::mutex mutex_;
    std::map<TaskKey, Limited> lines_;
    std::set<TaskKey> end_at_once_;
};

}  // namespace wq::programs::runtask

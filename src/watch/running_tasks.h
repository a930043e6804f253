// The tasks that run: what each was to be, what is known of it, and how far its end has come.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/outcome.h"
#include "process/order.h"
#include "process/scratch.h"
#include "watch/monitor.h"
#include "watch/task_groups.h"

namespace wq::watch {

// Why a task is being ended by us, and how far that has come.
enum class Verdict : std::uint8_t { none, timed_out, out_of_memory, exhausted, killed };

struct RunningTask {
    explicit RunningTask(const std::string& temporary) : directory(temporary) {}
    void begin_anew();

    process::LaneDirectory directory;  // its TMPDIR
    process::OrderMessage order;
    pid_t pid = 0;  // leader of its own process group; 0: none yet
    Instant started;
    core::Outcome outcome;  // filled as it becomes known
    Verdict verdict = Verdict::none;
    Instant next_action_at;  // when the time is over, or when to kill what a SIGTERM did not end
    bool has_next_action = false;
    std::unique_ptr<Monitor> monitor;  // null: what it takes is not looked at
    std::unique_ptr<TaskGroup> group;  // null: it has none of its own
};

class RunningTasks {
  public:
    void add(RunningTask& task) { all_.push_back(&task); }
    void remove(const RunningTask& task) { std::erase(all_, &task); }

    const std::vector<RunningTask*>& all() const { return all_; }
    // Null: there is none.
    RunningTask* by_pid(pid_t pid) const;  // also the process group of it and what it started
    RunningTask* by_task(TaskId task, Attempt attempt) const;
    RunningTask* by_serial(std::uint64_t serial) const;

  private:
    std::vector<RunningTask*> all_;
};

}  // namespace wq::watch

// The running tasks: for each its order, what is known of it, and how far its end has progressed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/model/outcome.h"
#include "node/process/order.h"
#include "node/process/scratch.h"
#include "node/usage/monitor.h"
#include "node/usage/task_groups.h"

namespace wq::node::usage {

// Why we are killing a task.
enum class Verdict : std::uint8_t { none, timed_out, out_of_memory, exhausted, killed };

struct RunningTask {
    explicit RunningTask(const std::string& temporary) : directory(temporary) {}
    void begin_anew();

    process::LaneDirectory directory;  // its TMPDIR
    process::OrderMessage order;
    pid_t pid = 0;  // leader of its own process group; 0: not started
    Instant started;
    engine::model::Outcome outcome;                        // filled as it becomes known
    std::optional<engine::model::MonitorReport> report{};  // the same
    Verdict verdict = Verdict::none;
    Instant next_action_at;  // the time limit, or when to send SIGKILL after SIGTERM
    bool has_next_action = false;
    std::unique_ptr<Monitor> monitor;  // null: not monitored
    std::unique_ptr<TaskGroup> group;  // null: it has no group
};

class RunningTasks {
  public:
    void add(RunningTask& task) { all_.push_back(&task); }
    void remove(const RunningTask& task) { std::erase(all_, &task); }

    const std::vector<RunningTask*>& all() const { return all_; }
    // Null if there is none.
    RunningTask* by_pid(pid_t pid) const;  // also its process group
    RunningTask* by_task(TaskId task, Attempt attempt) const;
    RunningTask* by_serial(std::uint64_t serial) const;

  private:
    std::vector<RunningTask*> all_;
};

}  // namespace wq::node::usage

// The running tasks: for each its order, what is known of it, and how far its end has progressed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "engine/model/outcome.h"
#include "node/process/order.h"
#include "node/process/process_tree.h"
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

// Handles processes that lost their parent, which the launcher adopts (it is a subreaper). An orphan of a
// running task stays; if its task has ended, it is killed with all its descendants.
class Leftovers {
  public:
    explicit Leftovers(const RunningTasks& running);

    // Daemons that a `#!` line started belong to the worker's shell and stay until the end.
    void expect_shell() { with_shell_ = true; }
    // Adds a child of the launcher that is neither a task nor an orphan.
    void add_own(pid_t pid) { own_.insert(pid); }

    // A child that is not a task's main process was reaped.
    void reaped(pid_t pid);

    bool cheap() const { return children_.cheap(); }  // listing orphans is cheap

    // The worker's shell has ended: kills what it had started.
    void shell_gone();

    // Checks all children and kills the orphans whose task no longer runs. True if any was killed.
    bool sweep();
    // The same after tasks have ended. If it is not cheap, it runs only so often that it takes 2 % of the
    // time.
    bool sweep_if_cheap(Instant now);
    // Whether a sweep was postponed.
    bool owed() const { return owed_; }
    Instant owed_at() const { return not_before_; }

    // Orphans of a task; the same, with their descendants.
    std::vector<pid_t> orphans_of(const RunningTask& task) const;
    std::vector<pid_t> of(const RunningTask& task) const;
    // Whether there is an orphan whose task is unknown.
    bool any_unknown() const { return unknown_ > 0; }

  private:
    struct Orphan {
        enum class Of : std::uint8_t { task, ended_task, shell, unknown } of = Of::unknown;
        std::uint64_t serial = 0;  // of its task or shell; if unknown, of the newest task when first seen
    };
    Orphan classify(pid_t pid) const;
    bool doomed(const Orphan& orphan) const;

    const RunningTasks& running_;
    bool with_shell_ = false;
    pid_t session_;
    pid_t group_;
    process::OwnChildren children_;
    std::set<pid_t> own_;
    std::unordered_map<pid_t, Orphan> orphans_;
    std::size_t unknown_ = 0;
    std::uint64_t shells_gone_ = 0;
    bool owed_ = false;
    Instant not_before_{};
};

}  // namespace wq::node::usage

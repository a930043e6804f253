// Receives what becomes of tasks that others start for a launcher: the worker's shell and Python
// interpreters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/calls/interpreters.h"
#include "node/launcher/lane.h"
#include "node/usage/running_tasks.h"

namespace wq::node::launcher {

// Why a task was not started.
struct StartProblem {
    std::string reason;
    bool may_pass = false;  // processes, memory or descriptors are short at the moment
};

class StartListener {
  public:
    virtual void task_started(Lane& lane) = 0;  // lane.pid is set
    virtual void task_not_started(Lane& lane, StartProblem problem) = 0;

  protected:
    ~StartListener() = default;
};

// Starts calls of Python functions, in processes that interpreters have forked, and tells how they end.
class PythonListener : public StartListener {
  public:
    // Its process has not begun it, and will not; task_started() or task_not_started() follows.
    virtual void task_taken_back(Lane& lane) = 0;
    virtual void call_ended(Lane& lane, int status, const rusage& usage) = 0;

  protected:
    ~PythonListener() = default;
};

class PythonCalls final : private calls::Listener {
  public:
    // `environment`, `path`, `files`: of interpreters (interpreters.h).
    PythonCalls(std::vector<std::string> environment, std::string path, const rlimit* files,
                process::Poller& poller, const usage::RunningTasks& running, usage::Leftovers& leftovers,
                PythonListener& listener)
        : running_(running),
          leftovers_(leftovers),
          listener_(listener),
          interpreters_(std::move(environment), std::move(path), files, poller, *this) {}

    // `lane`: with an order for process::Call `python`. `cores`: those to bind it to; empty: ours. The
    // listener learns what becomes of it, perhaps before this returns.
    void start(Lane& lane, const std::string& cores);

    // One that is to be killed, and has no process yet: the listener learns at once that it was not started.
    void abandon(const Lane& lane);

    // As of Interpreters.
    void ready(process::PollSource source, std::size_t number);
    void reaped(pid_t pid, int status) { interpreters_.reaped(pid, status); }
    void check(Instant now) { interpreters_.check(now); }
    std::optional<Instant> next_check() const { return interpreters_.next_check(); }

  private:
    void interpreter_started(pid_t pid) override { leftovers_.add_own(pid); }
    void call_given(std::uint64_t serial, pid_t pid) override;
    void call_taken_back(std::uint64_t serial) override;
    void call_ended(std::uint64_t serial, const calls::PythonCallEnd& end) override;
    void call_orphaned(std::uint64_t serial, pid_t pid) override;
    void call_refused(std::uint64_t serial, std::string reason, calls::Refusal kind) override;
    Lane* lane_of(std::uint64_t serial) const;

    const usage::RunningTasks& running_;
    usage::Leftovers& leftovers_;
    PythonListener& listener_;
    calls::Interpreters interpreters_;
};

}  // namespace wq::node::launcher

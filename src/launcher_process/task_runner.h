// Runs the tasks of a launcher: the queue of orders, their starts, ends and reports. It never waits;
// launcher_process.h does.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launcher_process/accounts.h"
#include "launcher_process/call_starter.h"
#include "launcher_process/environment_shell.h"
#include "launcher_process/lane.h"
#include "launcher_process/order_queue.h"
#include "launcher_process/output_watch.h"
#include "launcher_process/python_calls.h"
#include "launcher_process/report_buffer.h"
#include "launcher_process/shell_watch.h"
#include "launcher_process/task_ends.h"
#include "launcher_process/task_starter.h"
#include "launcher_wire/launcher_wire.h"
#include "launcher_wire/shared_page.h"
#include "process/poller.h"
#include "watch/leftovers.h"
#include "watch/limits.h"
#include "watch/oom_counter.h"
#include "watch/oom_score.h"
#include "watch/resource_watch.h"

namespace wq::launcher {

class TaskRunner final : private ShellListener, private PythonListener {
  public:
    TaskRunner(const LauncherOptions& options, char** inherited, SharedPage& shared,
               const process::FunctionTable* functions, process::Poller& poller, ReportBuffer& reports,
               Starters& starters);

    void enqueue(process::OrderMessage message, Instant now);
    void tell(EnvironmentLine line);
    void recall(std::uint64_t most, Instant now);
    void kill(TaskId task, Attempt attempt, Instant now);
    void kill_all(Instant now);

    // Starts as many as fit. If the next one is for another starter, asks that one instead.
    void start_tasks(Instant now, Starters::Index by);
    void children_ended(Instant now);  // of the calling thread
    bool loop_runs_tasks() const;
    bool take_killed_orphans() { return ends_.take_killed_orphans(); }  // since it was last called
    void ready(process::Source source, std::size_t number,
               Instant now);  // one of its descriptors in the poller
    void check(Instant now);  // does what is due by the clock
    Instant next_check(Instant now) const;

    // Reports running tasks that were not reported. True if the program of some task has not begun yet.
    bool announce_starts(Instant now);
    bool hungry() const {
        return queue_.empty() && (accounts_.any_core_free() || lanes_.running().all().empty());
    }

  private:
    void task_started(Lane& lane) override;
    void task_not_started(Lane& lane, StartProblem problem) override;
    void line_ended(EnvironmentOutput output) override;
    void shell_gone() override { leftovers_.shell_gone(); }
    void line_left(EnvironmentExit exit, Lane& lane) override;
    void task_taken_back(Lane& lane) override;
    void call_ended(Lane& lane, int status, const rusage& usage) override;

    bool start_next(Starters::Index by);
    Starters::Index starter_of(const OrderQueue::Next& next) const;
    bool start(OrderQueue::Next next, Starters::Index by);
    void start_process(Lane& lane);
    bool do_without_lane(const char* short_of);
    void started(Lane& lane);
    bool is_executed(Lane& lane);
    void start_anew(Lane& lane);
    void start_failed(Lane& lane);
    void put_back(Lane& lane);
    void settle(bool others);
    void release(Lane& lane);
    void give_back(const process::OrderMessage& message);
    void refuse(const process::OrderMessage& message, std::string reason);
    void watch_outputs(Instant now);

    const LauncherOptions options_;
    SharedPage& shared_;
    ReportBuffer& reports_;
    Starters& starters_;
    process::BaseEnvironment base_;
    Accounts accounts_;
    Lanes lanes_;
    watch::Leftovers leftovers_;
    watch::Limits limits_;
    watch::OomCounter oom_;
    watch::ResourceWatch watch_;
    const watch::OomScore oom_score_;
    std::optional<rlimit> files_;  // the tasks' limit, if the launcher had to raise its own
    TaskStarter starter_;
    CallStarter calls_;
    PythonCalls python_;
    std::unique_ptr<EnvironmentShell> shell_;
    std::optional<ShellWatch> shell_watch_;
    std::optional<std::uint64_t> shell_left_at_;  // position of the `#!` line that ended the shell
    OrderQueue queue_;
    OutputWatch outputs_;
    TaskEnds ends_;
    Instant now_{};
    bool forks_fail_ = false;  // until a lane is free
};

}  // namespace wq::launcher

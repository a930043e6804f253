// Runs the tasks of a launcher: the queue of orders, their starts, ends and reports. It never waits;
// launcher_process.h does.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "node/launcher/accounts.h"
#include "node/launcher/environment_shell.h"
#include "node/launcher/lane.h"
#include "node/launcher/launcher_wire.h"
#include "node/launcher/python_calls.h"
#include "node/launcher/shared_page.h"
#include "node/launcher/task_ends.h"
#include "node/launcher/task_starter.h"
#include "node/process/poller.h"
#include "node/usage/kills.h"
#include "node/usage/resource_watch.h"
#include "node/usage/running_tasks.h"

namespace wq::node::launcher {

class TaskRunner final : private ShellListener, private PythonListener {
  public:
    TaskRunner(const LauncherOptions& options, char** inherited, SharedPage& shared,
               const process::FunctionTable* functions, process::Poller& poller, ReportBuffer& reports,
               Starters& starters);

    void enqueue(process::OrderMessage message, Instant now);
    void add_line(EnvironmentLine line);
    void recall(std::uint64_t most, Instant now);
    void kill(TaskId task, Attempt attempt, Instant now);
    void kill_all(Instant now);

    // Starts as many as fit. If the next one is for another starter, asks that one instead.
    void start_tasks(Instant now, Starters::Index by);
    void children_ended(Instant now);  // of the calling thread
    bool loop_runs_tasks() const;
    bool take_killed_orphans() { return ends_.take_killed_orphans(); }  // since it was last called
    void ready(process::PollSource source, std::size_t number,
               Instant now);  // one of its descriptors in the poller
    void check(Instant now);  // does what is due by the clock
    Instant next_check(Instant now) const;

    // Reports running tasks that were not reported. True if the program of some task has not begun yet.
    bool announce_starts(Instant now);
    bool wants_tasks() const {
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
    void settle_ends(TaskEnds::Ended ended);
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
    usage::Leftovers leftovers_;
    usage::Limits limits_;
    usage::OomCounter oom_;
    usage::ResourceWatch watch_;
    const usage::OomScore oom_score_;
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

}  // namespace wq::node::launcher

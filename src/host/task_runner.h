// The tasks of a launcher: the queue of orders, their starts, ends and reports. It never waits;
// launcher_process.h does.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "host/accounts.h"
#include "host/call_starter.h"
#include "host/environment_shell.h"
#include "host/lane.h"
#include "host/launcher_wire.h"
#include "host/leftovers.h"
#include "host/limits.h"
#include "host/oom_counter.h"
#include "host/oom_score.h"
#include "host/poller.h"
#include "host/report_buffer.h"
#include "host/resource_watch.h"
#include "host/shared_page.h"
#include "host/task_starter.h"

namespace wq::host {

class TaskRunner final : private ShellListener {
  public:
    TaskRunner(const LauncherOptions& options, char** inherited, SharedPage& shared,
               const FunctionTable* functions, Poller& poller, ReportBuffer& reports);

    void enqueue(OrderMessage message, Instant now);
    void tell(EnvironmentLine line);
    void recall(std::uint64_t most, Instant now);
    void kill(TaskId task, Attempt attempt, Instant now);
    void kill_all(Instant now);

    void start_tasks(Instant now);     // as many as fit
    void children_ended(Instant now);  // SIGCHLD came
    void ready(Source source, std::size_t number,
               Instant now);  // one of the descriptors it put into the poller
    void check(Instant now);  // what is due by the clock
    Instant next_check(Instant now) const;

    void announce_starts(Instant now);  // reports what runs and was not reported
    bool hungry() const { return queue_.empty() && (accounts_.any_core_free() || lanes_.running().empty()); }

  private:
    void task_started(Lane& lane) override;
    void task_not_started(Lane& lane, const std::string& reason) override;
    void line_ended(EnvironmentOutput output) override;
    void shell_gone() override { leftovers_.shell_gone(); }
    void line_left(EnvironmentExit exit, Lane& lane) override;

    using Queue = std::deque<OrderMessage>;
    bool start_next(Instant now);
    bool start_behind_head(Instant now);
    bool start(Queue::iterator order, Holding holding, Instant now);
    void begin(Queue::const_iterator order) const;
    bool do_without_lane();
    void started(Lane& lane);
    void start_failed(Lane& lane);
    void put_back(Lane& lane);
    pid_t wait_for_child(int& status, rusage& usage);
    void note_end(Lane& lane, int status, const rusage& usage, Instant now) const;
    void judge(Lane& lane);
    static bool held_open(Lane& lane);
    void finish(Lane& lane, bool may_be_held);
    void release(Lane& lane);
    void remove_aside(const std::string& path);
    void give_back(const OrderMessage& message);
    void refuse(const OrderMessage& message, std::string reason);
    void watch_outputs(Instant now);
    void watch_stream(Capture& capture, Source source, std::size_t number);
    void drain(Capture& capture, Source source, std::size_t number);
    void watch_shell();

    const LauncherOptions options_;
    SharedPage& shared_;
    Poller& poller_;
    ReportBuffer& reports_;
    BaseEnvironment base_;
    Accounts accounts_;
    Lanes lanes_;
    Leftovers leftovers_;
    Limits limits_;
    OomCounter oom_;
    ResourceWatch watch_;
    const OomScore oom_score_;
    std::optional<rlimit> files_;  // what tasks get back, where the launcher had to raise its own
    TaskStarter starter_;
    CallStarter calls_;
    std::unique_ptr<EnvironmentShell> shell_;
    std::optional<std::uint64_t> shell_left_at_;  // position of the `#!` line that ended the shell
    Queue queue_;
    bool alike_ = true;  // all that waits takes as much as the head
    Instant now_{};
    std::size_t unwatched_ = 0;        // running tasks whose output is not yet watched
    bool forks_fail_ = false;          // until a lane comes free
    std::uint64_t shell_watched_ = 0;  // generation
    bool script_in_poller_ = false;
};

}  // namespace wq::host

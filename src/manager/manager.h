// The manager of a run: events come in from connections, and actions go out to connections and records. It
// decides nothing (scheduling/reactor does) and only routes to its parts. It has no clock and no descriptor:
// the loop calls it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/background.h"
#include "manager/action_performer.h"
#include "manager/environment_lines.h"
#include "manager/lease_sender.h"
#include "manager/links.h"
#include "manager/manager_times.h"
#include "manager/router.h"
#include "manager/run_records.h"
#include "manager/storage_watch.h"
#include "manager/task_texts.h"
#include "manager/ticket_server.h"
#include "manager/worker_messages.h"
#include "manager/worker_notices.h"
#include "manager/worker_release.h"
#include "manager/worker_sessions.h"
#include "net/transport.h"
#include "scheduling/reactor.h"
#include "stats/recorder.h"

namespace wq::manager {

struct ManagerOptions {
    scheduling::ReactorOptions reactor;
    std::uint32_t ranks = 1;  // of the job: workers over TCP are numbered after them
    // Of workers over TCP: where their tasks start, if they see that folder; empty: in their workspaces.
    std::string directory;
    // A file that shows who sees our files, and its content: those workers are sent none. Empty path: all
    // are.
    std::string mark_path;
    std::string mark;
    std::string index_variable;  // of workers over TCP: a further name of WORK_QUEUE_TASK_INDEX; empty: none
    // A worker over TCP that has not said hello so long after it connected is sent away.
    Duration hello_limit = std::chrono::seconds(30);
    Duration beat = std::chrono::seconds(1);
    Duration sample_every =
        std::chrono::milliseconds(100);  // of the time series; doubled as the run gets long
    // Records and output that wait to be written: above it dispatching pauses until half of it is written.
    std::uint64_t most_unwritten_bytes = 512u << 20;
    // For how long writing results is retried; then the run stops, to be resumed.
    Duration storage_retry_limit = std::chrono::seconds(60);
    std::uint64_t output_limit = 8u << 20;  // bytes that workers keep of each stream of a task
    // How the user can keep a host from being excluded; it follows the line that says so.
    std::string how_to_keep_hosts;
    bool ends_workers = false;  // those over TCP end with the manager; else they look for another
    std::vector<std::string> categories{"default"};
    // Attempts of tasks in earlier runs, by key: this run continues their numbers.
    std::unordered_map<std::uint64_t, Attempt> earlier_attempts;
    tickets::Counters* counters = nullptr;  // nodes draw ranges of an array from it; null: by message
    Background* background = nullptr;       // for files; null: no task has any
};

class Manager final : private Router {
  public:
    Manager(ManagerOptions options, TaskTexts& tasks, stats::Recorder& recorder, core::Now started);
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    // ---- the task source ----
    void add(const core::TaskRange& range, const IntervalSet& done, const IntervalSet& failed, core::Now now);
    void add_barrier(core::Now now) { react(core::BarrierAdded{}, now); }
    void end_input(core::Now now);
    // A `#!` line; for all workers, also for those that join later. Empty `workers`: all.
    void add_environment_line(std::uint64_t position, std::string text, std::vector<std::uint32_t> workers);

    // ---- the source, or a program ----
    CategoryId category(const std::string& name) { return records_.category(name); }
    // What holds for the tasks of a category from now on; `what.category` is filled in.
    void set_category(const std::string& name, core::CategorySet what, core::Now now);
    // Settings, host blocks, cancelled tasks: an event that the core understands.
    void ask(const core::Event& event, core::Now now) { react(event, now); }
    WorkerRelease& release() { return release_; }

    // ---- workers ----
    // Peers of this transport are workers that come by themselves (over TCP): none of them is a rank, and
    // nothing that they say is trusted.
    void expect_tcp_workers(const net::Transport& from) { links_.expect_tcp_workers(from); }
    // Returns whether it was more than a sign of life.
    bool on_arrival(net::Transport& from, const net::Arrival& arrival, core::Now now);
    // Whether a call of a function has ended with a result since this was asked last.
    bool take_call_ended() { return messages_.take_call_ended(); }

    // ---- the run ----
    void stop(core::StopReason reason, Duration grace, core::Now now);
    void on_recorder(core::Now now) { storage_.look(now); }            // its descriptor is readable
    void on_background(core::Now now) { leases_.on_background(now); }  // the same
    void tick(core::Now now);
    std::optional<Instant> wakeup() const;
    void flush();                                             // messages of this turn leave
    void dismiss_all(const std::string& why, core::Now now);  // at the end: nothing may follow

    const std::optional<core::Finished>& finished() const { return performer_.finished(); }
    // Finished, and all that ended by itself is written, or we stopped waiting for that.
    bool over() const;
    const scheduling::Reactor& reactor() const override { return reactor_; }
    const RunRecords& records() const { return records_; }
    bool lost_a_rank() const { return sessions_.lost_a_rank(); }
    core::ManagerStats stats() const { return with_own(reactor_.stats()); }
    // Of the category's tasks; figures of workers and of the manager are those of the whole.
    core::ManagerStats stats(CategoryId category) const { return with_own(reactor_.stats(category)); }
    // A turn of the loop is over: how long it waited, and was busy.
    void count_time(Duration waited, Duration busy) { times_.turn(waited, busy); }

    // What times of sending and receiving are measured by; without one they stay 0.
    std::function<Instant()> clock = [] { return Instant{}; };
    // Lines for the user: remarks of workers, warnings, trouble.
    std::function<void(const std::string&)> say = [](const std::string&) {};

  private:
    // Router: what the parts see of us.
    bool run_is_over() const override { return finished().has_value(); }
    void react(const core::Event& event, core::Now now) override;
    void tell_user(const std::string& line) override { say(line); }
    void handle(const core::Event& event, core::Now now);
    core::ManagerStats with_own(core::ManagerStats stats) const;

    const Duration hello_limit_;
    const Duration beat_;
    TaskTexts& tasks_;
    scheduling::Reactor reactor_;
    std::vector<core::Action> actions_;                     // of the event that is being handled
    std::deque<std::pair<core::Event, core::Now>> raised_;  // by acting on them
    bool acting_ = false;
    Instant next_beat_;
    ManagerTimes times_;

    Links links_;
    EnvironmentLines environment_;
    TicketServer tickets_;
    RunRecords records_;
    StorageWatch storage_;
    LeaseSender leases_;
    WorkerNotices notices_;
    WorkerSessions sessions_;
    WorkerRelease release_;
    WorkerMessages messages_;
    ActionPerformer performer_;
};

// Of all figures those that cost nothing: workers_connected, tasks_waiting, tasks_submitted.
core::ManagerStats brief_stats(const scheduling::Reactor& reactor);

}  // namespace wq::manager

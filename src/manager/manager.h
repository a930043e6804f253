// The manager of a run: takes events from connections, and passes actions to connections and records. It
// decides nothing (engine/policies/reactor does) and only routes to its parts. It has no clock and no
// descriptor: the loop calls it.
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
#include "engine/policies/reactor.h"
#include "manager/action_performer.h"
#include "manager/lease_sender.h"
#include "manager/links.h"
#include "manager/manager_times.h"
#include "manager/router.h"
#include "manager/run_records.h"
#include "manager/status_answers.h"
#include "manager/storage_watch.h"
#include "manager/task_table.h"
#include "manager/ticket_server.h"
#include "manager/worker_changes.h"
#include "manager/worker_messages.h"
#include "manager/worker_sessions.h"
#include "net/frames/transport.h"
#include "records/recorder/recorder.h"

namespace wq::manager {

// Tells each part of the manager that keeps data about workers when they join, disconnect and leave.
class WorkerNotices final : public WorkerEvents {
  public:
    struct Receivers {
        EnvironmentLines& environment;
        LeaseSender& leases;
        TicketServer& tickets;
        RunRecords& records;
        WorkerRelease& release;
        WorkerChanges& changes;
    };
    explicit WorkerNotices(Receivers receivers) : to_(receivers) {}

    void joined(const Link& link, const net::messages::Hello& hello) override;
    void welcomed(Link& link) override { to_.environment.send_lines(link); }
    void disconnected(WorkerId worker) override;
    void unlinked(const Link& link) override;
    void departed(const records::journal::WorkerRecord& worker, const std::string& why,
                  records::journal::Departure departure, engine::model::Now now) override;

  private:
    Receivers to_;
};

struct ManagerOptions {
    engine::policies::ReactorOptions reactor;
    std::uint32_t ranks = 1;  // in the job; numbers of TCP workers start after them
    // Folder where tasks of TCP workers start, if the worker sees it; empty: in the workers' workspaces.
    std::string directory;
    // A file and its content. A worker that sees this file sees our files, so it is sent none. Empty path:
    // files are sent to all workers.
    std::string mark_path;
    std::string mark;
    // Workers that can map memories of this process are not sent what tasks have in these.
    bool lends_memory = false;
    std::string index_variable;  // for TCP workers: another name of WORK_QUEUE_TASK_INDEX; empty: none
    // TCP workers that join must reconnect within this time after a disconnection; 0: they are lost at once.
    Duration disconnect_limit{0};
    // A TCP worker that sends no hello within this time is disconnected.
    Duration hello_limit = std::chrono::seconds(30);
    Duration beat = std::chrono::seconds(1);
    Duration sample_every = std::chrono::milliseconds(100);  // of the time series (TimeSeries)
    // Above this amount of unwritten records and output, dispatching pauses until half of it is written.
    std::uint64_t most_unwritten_bytes = 512u << 20;
    // How long writing results is retried; then the run stops and can be resumed.
    Duration storage_retry_limit = std::chrono::seconds(60);
    std::uint64_t output_limit = 8u << 20;  // bytes that workers keep of each stream of a task
    // Tells the user how to keep a host from being excluded; follows the line that a host is excluded.
    std::string how_to_keep_hosts;
    bool ends_workers = false;  // TCP workers end with the manager; false: they look for another manager
    std::vector<std::string> categories{"default"};
    // Attempts of tasks in earlier runs, by key; this run continues the numbers.
    std::unordered_map<std::uint64_t, Attempt> earlier_attempts;
    ranks::tickets::Counters* counters = nullptr;  // nodes claim ranges of an array from it; null: by message
    Background* background = nullptr;              // for files; null: no task has files
};

class Manager final : private Router {
  public:
    Manager(ManagerOptions options, TaskTexts& tasks, records::recorder::Recorder& recorder,
            engine::model::Now started);
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    // ---- the task source ----
    void add(const engine::model::TaskRange& range, const IntervalSet& done, const IntervalSet& failed,
             engine::model::Now now);
    void add_barrier(engine::model::Now now) { react(engine::model::BarrierAdded{}, now); }
    void end_input(engine::model::Now now);
    void add_environment_line(std::uint64_t position, std::string text, std::vector<std::uint32_t> workers);

    // ---- the source, or a program ----
    CategoryId category(const std::string& name) { return records_.category(name); }
    // Sets the category's settings for tasks from now on; fills in `what.category`.
    void set_category(const std::string& name, engine::model::CategorySet what, engine::model::Now now);
    // Passes an event to the core: settings, host blocks, cancelled tasks.
    void ask(const engine::model::Event& event, engine::model::Now now) { react(event, now); }
    WorkerRelease& release() { return release_; }
    // For workers that join from now on.
    void set_disconnect_limit(Duration limit) { sessions_.set_disconnect_limit(limit); }

    // ---- workers ----
    // Peers of this transport join on their own (over TCP): they are no ranks, and nothing they send is
    // trusted.
    void expect_tcp_workers(const net::frames::Transport& from) { links_.expect_tcp_workers(from); }
    // Returns whether it was more than a keepalive.
    bool on_arrival(net::frames::Transport& from, const net::frames::Arrival& arrival,
                    engine::model::Now now);
    // Returns whether a call of a function has ended with a result since the last check.
    bool take_call_ended() { return messages_.take_call_ended(); }

    // ---- the run ----
    void stop(engine::model::StopReason reason, Duration grace, engine::model::Now now);
    void on_recorder(engine::model::Now now) { storage_.check_recorder(now); }  // its descriptor is readable
    void on_background(engine::model::Now now) { leases_.on_background(now); }  // same
    void tick(engine::model::Now now);
    std::optional<Instant> wakeup() const;
    void flush();                                                      // sends the messages of this turn
    void dismiss_all(const std::string& why, engine::model::Now now);  // at the end: nothing may follow

    const std::optional<engine::model::Finished>& finished() const { return performer_.finished(); }
    // The run is finished, and its results are written or no longer waited for.
    bool over() const;
    const engine::policies::Reactor& reactor() const override { return reactor_; }
    const RunRecords& records() const { return records_; }
    // What its hello said; null: it has left, or is a disconnected rank.
    const records::journal::WorkerRecord* worker(WorkerId id) const;
    bool lost_a_rank() const { return sessions_.lost_a_rank(); }
    engine::model::ManagerStats stats() const override { return with_own(reactor_.stats()); }
    // For the category's tasks; statistics of workers and of the manager are for the whole run.
    engine::model::ManagerStats stats(CategoryId category) const {
        return with_own(reactor_.stats(category));
    }
    // For the statistics: what a factory beside the run wants and has submitted.
    void note_growth(std::int64_t wanted, std::int64_t pending) { wanted_ = wanted, pending_ = pending; }
    // For programs that ask: when the run began, and how many tasks end per second, lately.
    void note_rate(WallMicros started, double rate) { messages_.note_rate(started, rate); }
    // Who lists the queue for programs that ask; it outlives the manager. Without one, they are refused.
    void list_by(StatusLister* lister) { answers_.list_by(lister); }
    // A turn of the loop is over: it waited and worked for these times.
    void count_time(Duration waited, Duration busy) { times_.count_turn(waited, busy); }

    void sample_every(Duration interval, engine::model::Now now) {
        series_.start_anew(interval, now.instant);
    }
    // The run is over: writes its last figures.
    void end_samples(engine::model::Now now) {
        series_.finish(stats(), now);
        next_waiting_ = {};
        note_waiting(now);
    }

    // Measures sending and receiving; if not set, these times stay 0.
    std::function<Instant()> clock = [] { return Instant{}; };
    // Lines for the user: messages of workers, warnings, errors.
    std::function<void(const std::string&)> say = [](const std::string&) {};

  private:
    // Router: what the parts may use of the manager.
    bool run_is_over() const override { return finished().has_value(); }
    void react(const engine::model::Event& event, engine::model::Now now) override;
    void print_line(const std::string& line) override { say(line); }
    void handle_event(const engine::model::Event& event, engine::model::Now now);
    void note_waiting(engine::model::Now now);
    bool take(LinkKey key, const net::frames::Arrival& arrival, std::size_t& begun, bool& says_more,
              engine::model::Now now);
    void keep_waiting(LinkKey key, net::frames::Arrival arrival, std::size_t begun);
    void take_waiting(engine::model::Now now);
    engine::model::ManagerStats with_own(engine::model::ManagerStats stats) const;

    const Duration hello_limit_;
    const Duration beat_;
    TaskTexts& tasks_;
    engine::policies::Reactor reactor_;
    std::vector<engine::model::Action> actions_;  // of the current event
    std::deque<std::pair<engine::model::Event, engine::model::Now>>
        raised_;  // events raised by these actions
    bool acting_ = false;
    Instant next_beat_;
    std::int64_t wanted_ = 0;  // workers, see note_growth()
    std::int64_t pending_ = 0;
    ManagerTimes times_;
    std::uint64_t turn_ = 1;
    std::vector<LinkKey> waiting_;  // links of which something waits for the next turn

    Links links_;
    EnvironmentLines environment_;
    TicketServer tickets_;
    RunRecords records_;
    WorkerChanges changes_;
    TimeSeries series_;
    Instant next_waiting_;  // when what waits is looked at again
    bool had_workers_ = false;
    StorageWatch storage_;
    LeaseSender leases_;
    WorkerNotices notices_;
    WorkerSessions sessions_;
    WorkerRelease release_;
    StatusAnswers answers_;
    WorkerMessages messages_;
    ActionPerformer performer_;
};

// Only the statistics that cost nothing: workers_connected, tasks_waiting, tasks_submitted.
engine::model::ManagerStats brief_stats(const engine::policies::Reactor& reactor);

}  // namespace wq::manager

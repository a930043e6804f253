// The manager of a run: the only place where events come in from the wires and actions go out to wires and
// records. It decides nothing; core/reactor does. It has no clock and no descriptor of its own: the loop
// calls it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/background.h"
#include "app/failures.h"
#include "app/file_desk.h"
#include "app/manager_times.h"
#include "app/outbox.h"
#include "app/session_book.h"
#include "app/task_texts.h"
#include "app/ticket_office.h"
#include "core/reactor.h"
#include "stats/recorder.h"
#include "transport/transport.h"
#include "wire/messages.h"

namespace wq::app {

struct ManagerOptions {
    core::ReactorOptions reactor;
    std::uint32_t ranks = 1;  // of the job: workers over TCP are numbered behind them
    // Of those: where their tasks start, if they see that folder; empty: in their workspaces.
    std::string directory;
    // A file that shows who sees our files, and what is in it: for them none are brought. Empty path: for
    // all.
    std::string mark_path;
    std::string mark;
    std::string index_variable;  // of theirs: a further name of WORK_QUEUE_TASK_INDEX; empty: none
    // Of workers that come by themselves: who has not said hello so long after it joined is sent away.
    Duration hello_limit = std::chrono::seconds(30);
    Duration beat = std::chrono::seconds(1);
    Duration sample_every =
        std::chrono::milliseconds(100);  // of the time series; doubled as the run grows long
    // Records and output that wait to be written: above it nothing is given out until half of it is.
    std::uint64_t most_unwritten_bytes = 512u << 20;
    // Storage that takes no records is tried for so long; then the run stops, to be resumed.
    Duration storage_patience = std::chrono::seconds(60);
    std::uint64_t output_limit = 8u << 20;  // bytes that workers keep of a stream of a task
    // What the user can do about a host that gets no tasks as it fails them; behind the line that says so.
    std::string how_to_keep_hosts;
    bool ends_workers = false;  // those over TCP end with the manager; else they look for another
    std::vector<std::string> categories{"default"};
    // Attempts of tasks in earlier runs, by key: those of this run are recorded as the ones that follow.
    std::unordered_map<std::uint64_t, Attempt> earlier_attempts;
    transport::Counters* counters = nullptr;  // nodes draw ranges of an array from it; null: by message
    Background* background = nullptr;         // for files; null: no task has any
};

// Why a worker left that we asked to: Work Queue's word for it.
inline constexpr const char* told_to_leave = "EXPLICIT";

class Manager {
  public:
    Manager(ManagerOptions options, TaskTexts& tasks, stats::Recorder& recorder, core::Now started);

    // ---- the task source ----
    void add(const core::TaskRange& range, const IntervalSet& done, const IntervalSet& failed, core::Now now);
    void add_barrier(core::Now now);
    void end_input(core::Now now);
    // A `#!` line; for all workers, also for those that join later. Empty `workers`: all.
    void add_environment_line(std::uint64_t position, std::string text, std::vector<std::uint32_t> workers);
    CategoryId category(const std::string& name);

    // ---- workers ----
    // Peers of this transport are workers that come by themselves (over TCP): none of them is a rank, and
    // nothing that they say is trusted.
    void expect_strangers(const transport::Transport& from) { strangers_.insert(&from); }
    // Returns whether it was more than a sign of life.
    bool on_arrival(transport::Transport& from, const transport::Arrival& arrival, core::Now now);

    // ---- what a program asks for ----
    // Those in any state that is not final; the recorder is told by cancelled(). What runs is killed.
    void cancel(Interval tasks, core::Now now);
    // The workers of a host get nothing more and are dismissed once they are empty; `on` false: they stay.
    // Returns how many there are.
    std::size_t drain(const std::string& host, bool on, core::Now now);
    // A task that runs for so many times its category's mean may get a second copy; below 1: none does.
    void copy_stragglers(double from, core::Now now);
    // What a task is given of its worker, from now on.
    void allocate_by(const core::AllocationRules& rules, core::Now now);
    // A worker may hold tasks for so many times what it has; at least 1.
    void hold_on_workers(double times, core::Now now);
    // What holds for the tasks of a category from now on; `what.category` is filled in.
    void set_category(const std::string& name, core::CategorySet what, core::Now now);
    // What a task that says so much asks for now, with what its category gives at first, or at most;
    // negative: neither says, or a whole worker.
    core::Resources requested(const core::Needs& said, CategoryId category, bool at_maximum = false) const;
    // Whether tasks given out from now on are sampled, and held to what they are given.
    void monitor(const core::Monitoring& monitoring, core::Now now);
    // Whether the last tasks, where fewer wait than there are workers, get all that is free there.
    void ramp_down(bool on, core::Now now);
    // Whether hosts that fail what succeeds elsewhere get no tasks for a while.
    void set_hosts_aside(bool on, core::Now now);
    // Nothing is given out before so many were there at once.
    void hold_until_workers(std::uint32_t count, core::Now now);
    // The workers of a host get nothing, for so long or until it is taken back; they stay.
    void block(const std::string& host, std::optional<Duration> time, core::Now now);
    void unblock(const std::string* host, core::Now now);  // null: all
    // See core::Pace::set(). Returns whether the category's tasks are ended now when they take too long.
    bool set_fast_abort(const std::string& category, double multiplier, core::Now now);
    // So many workers, the emptiest first, get nothing more and are dismissed once they are empty; 0: all.
    std::size_t shut_down(std::size_t workers, core::Now now);

    // ---- the run ----
    void stop(core::StopReason reason, Duration grace, core::Now now);
    void on_recorder(core::Now now);    // its descriptor is readable
    void on_background(core::Now now);  // the same of the background's
    void tick(core::Now now);
    std::optional<Instant> wakeup() const;
    void flush();                                             // messages of this turn leave
    void dismiss_all(const std::string& why, core::Now now);  // at the end: nothing may follow

    const std::vector<std::string>& categories() const { return categories_; }  // by CategoryId
    const std::optional<core::Finished>& finished() const { return finished_; }
    // Finished, and what ended by itself is written, or its patience is over.
    bool over() const;
    const core::Reactor& reactor() const { return reactor_; }
    const Failures& failures() const { return failures_; }
    std::uint64_t attempts_ended() const { return recorded_; }
    std::uint64_t outputs_cut() const { return outputs_cut_; }  // tasks whose last attempt lost some output
    bool lost_a_worker() const { return lost_a_worker_; }
    core::ManagerStats stats() const;
    core::ManagerStats stats(CategoryId category) const;  // of its tasks; the rest is of the whole
    // Of these, cheaply: workers_connected, tasks_waiting, tasks_submitted.
    core::ManagerStats brief_stats() const;
    // A turn of the loop is over: how long it waited, and did something.
    void count_time(Duration waited, Duration busy) { times_.turn(waited, busy); }

    // What times of sending and receiving are measured by; without one they stay 0.
    std::function<Instant()> clock = [] { return Instant{}; };
    // Lines for the user: remarks of workers, warnings, trouble.
    std::function<void(const std::string&)> say = [](const std::string&) {};

  private:
    struct Link {
        transport::Transport* transport = nullptr;
        transport::PeerId peer;
        std::string address;
        std::optional<Outbox> outbox;
        std::optional<stats::WorkerRecord> record;  // once it has said hello
        std::uint64_t told_environment = 0;         // `#!` lines sent
        std::string os, arch;                       // of its host
        bool takes_tickets = false;
        bool shares_files = false;  // it sees ours: none are brought
        bool stranger = false;
        Instant hello_until;         // of a stranger
        Session* session = nullptr;  // of a worker over TCP
    };
    struct EnvironmentLine {
        std::uint64_t position = 0;
        std::string text;
        std::vector<std::uint32_t> workers;
    };
    using LinkKey = std::pair<transport::Transport*, transport::PeerId>;

    void on_message(Link& link, wire::Hello& message, core::Now now);
    void on_message(Link& link, wire::Ended& message, core::Now now);
    void on_message(Link& link, const wire::GivenBack& message, core::Now now);
    void on_message(Link& link, const wire::Account& message, core::Now now);
    void on_message(Link& link, const wire::WantTickets& message, core::Now now);
    void on_message(Link& link, const wire::WantTexts& message, core::Now now);
    void on_message(Link& link, const wire::Goodbye& message, core::Now now);
    void on_message(Link& link, const wire::EnvironmentReport& message, core::Now now);
    void on_message(Link& link, const wire::Beat& message, core::Now now);
    void on_message(Link& link, const wire::RangeEnded& message, core::Now now);
    void on_message(Link& link, const wire::Draining& message, core::Now now);
    // Of files.
    void on_message(Link& link, const wire::WantInput& message, core::Now now);
    void on_message(Link& link, const wire::HaveInput& message, core::Now now);
    void on_message(Link& link, const wire::SharesFiles& message, core::Now now);
    void on_message(Link& link, wire::OutputPart& message, core::Now now);
    void on_message(Link& link, wire::WatchedPart& message, core::Now now);
    void on_message(Link& link, const wire::OutputsSent& message, core::Now now);
    // What only workers are told.
    template <class Other>
    void on_message(Link& link, const Other&, core::Now now) {
        if (link.stranger) refuse(link, "it sent what only a manager says", now);
    }

    // manager_files.cpp
    struct Preparing {
        WorkerId worker;
        wire::Lease lease;
        core::Lease action;
    };
    void prepare(const Link& link, core::Lease& action, wire::Lease lease,
                 std::shared_ptr<const files::TaskFiles> files);
    void prepared(TaskId task, const FileDesk::Prepared& result);
    void note_transfer(const FileDesk::Transfer& transfer);
    void forget_files(TaskId task, Attempt attempt);
    void forget_files(Interval tasks);
    void forget_files(WorkerId worker);

    // manager_sessions.cpp
    bool refuse_version(Link& link, const wire::Hello& message, core::Now now);
    wire::Welcome welcome() const;
    wire::Welcome welcome_back(const Session& session) const;
    void welcome_stranger(Link& link, wire::Hello& message, core::Now now);
    void take_over(Link& link, wire::Hello& message, core::Now now);
    void refuse(Link& link, const std::string& why, core::Now now);
    void send_away(Link& link, const wire::Message& last, const std::string& why, core::Now now);
    void send_silent_away(core::Now now);
    bool out_of_turn(Link& link, core::Now now);
    void count_answer(Link& link);
    void acknowledge_answers();
    void on_cut(LinkKey key, const std::string& why, core::Now now);
    void end_session(WorkerId worker, const std::string& why, stats::Departure departure, core::Now now);
    core::WorkerJoined joined(const wire::Hello& message, WorkerId worker, core::Now now) const;

    // What a frame brought: nothing but a sign of life, something, or ends of tasks.
    enum class Heard { beat, status, results };
    Heard on_frame(Link& link, const std::string& bytes, core::Now now);
    void drop(LinkKey key, const std::string& why, stats::Departure departure, core::Now now);
    void note_departure(stats::WorkerRecord record, const std::string& why, stats::Departure departure,
                        core::Now now);
    void note_departures_at_the_end(const std::string& why, core::Now now);
    void tell_environment(Link& link);

    void react(const core::Event& event, core::Now now);
    void act(core::Action& action, core::Now now);
    void act_on(core::Lease& action, core::Now now);
    void act_on(core::AttemptEnded& action, core::Now now);
    void act_on(core::Skipped& action, core::Now now);
    void send_lease(Link& link, const core::Lease& action, wire::Lease lease, core::Now now);
    void note_waiting(TaskId task, CategoryId category, WallMicros when, bool at_maximum);
    void act_on(core::RangeEnded& action, core::Now now);
    void act_on(const core::CategoryChanged& action, core::Now now);
    bool at_maximum(TaskId task) const;
    void act_on(core::Dismiss& action, core::Now now);
    void tell_pool(const wire::Message& message);
    bool takes_part(const Link& link) const;
    void watch_storage(core::Now now);
    core::ManagerStats with_own(core::ManagerStats stats) const;
    void let_go(WorkerId worker, core::Now now);
    void dismiss_the_empty(core::Now now);
    // Work Queue's transaction log tells of the beginnings too.
    void note_dispatch(TaskId task, Attempt attempt, CategoryId category, const Link& link,
                       const core::Resources& given, WallMicros submitted_us, WallMicros dispatched_us,
                       bool at_maximum);
    Link* link_of(WorkerId worker);
    void tell(Link& link, const wire::Message& message);  // with the next flush()

    ManagerOptions options_;
    TaskTexts& tasks_;
    stats::Recorder& recorder_;
    core::Reactor reactor_;
    Failures failures_;
    TicketOffice office_;
    std::map<std::string, std::int64_t> pool_cores_;  // by host, of ranks that take tickets
    std::map<LinkKey, Link> links_;
    std::vector<LinkKey> unsent_;  // with messages of this turn
    std::unordered_map<WorkerId, LinkKey> workers_;
    std::set<const transport::Transport*> strangers_;
    std::deque<std::pair<Instant, LinkKey>>
        unheard_;  // strangers that joined, and how long they may be silent
    SessionBook sessions_;
    std::vector<WorkerId> unacknowledged_;  // with answers of this turn
    std::vector<EnvironmentLine> environment_;
    std::map<std::string, CategoryId> category_ids_;
    std::vector<std::string> categories_;                        // by CategoryId
    std::map<CategoryId, core::CategoryChanged> category_told_;  // to the records
    std::set<WorkerId> let_go_;   // get nothing more, and leave when they are empty
    std::set<WorkerId> leaving_;  // have said that they leave, whatever we would like
    std::vector<core::Action> actions_;
    core::Output* output_ = nullptr;  // of the attempt whose end is being handled
    TaskId output_of_;
    std::uint64_t recorded_ = 0;
    std::uint64_t outputs_cut_ = 0;
    bool holding_ = false;  // storage trouble told to the core
    std::optional<Instant> trouble_since_;
    std::unordered_map<WorkerId, std::uint64_t> ended_there_;  // attempts, by those that have not left
    bool gave_up_ = false;                                     // the storage's patience is over
    bool lost_a_worker_ = false;
    std::optional<core::Finished> finished_;
    Instant next_beat_;
    Instant next_sample_;
    Duration sample_every_;
    std::uint64_t samples_ = 0;
    core::ManagerStats own_stats_;  // what the core does not count
    ManagerTimes times_;
    std::optional<FileDesk> desk_;
    std::map<TaskId, Preparing> preparing_;  // leases that leave once their files are known
    core::Now background_now_;               // of on_background()
    bool tasks_unsent_ = false;              // in outboxes
};

}  // namespace wq::app

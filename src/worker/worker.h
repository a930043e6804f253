// A worker of the run, seen from inside: it passes leases on to its launcher and outcomes back to its
// manager. It has no clock and no descriptor of its own; the loop that owns them calls it. Messages are taken
// in any number and order and twice: a lease that it holds already is not run again, a kill of what it does
// not hold is nothing.
//
// A worker over TCP (its hello has an identity) outlives its link: what runs goes on and what ends is kept
// while there is none, and it goes on with the next one that leads to the same manager. See worker_session.h
// for who makes links.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/listening_clock.h"
#include "base/time.h"
#include "launcher/function_runner.h"
#include "launcher/launcher.h"
#include "net/transport.h"
#include "session/outbox.h"
#include "wire/messages.h"
#include "worker/answer_log.h"
#include "worker/claim_size.h"
#include "worker/prefetch.h"
#include "worker/signalled_ends.h"
#include "worker/ticket_client.h"
#include "worker/worker_files.h"

namespace wq::worker {

struct WorkerOptions {
    wire::Hello hello;
    launcher::LauncherOptions launcher;
    std::string index_variable;  // a further name of WORK_QUEUE_TASK_INDEX; empty: none
    Duration beat = std::chrono::seconds(1);
    // A manager not heard for so long is gone: what runs is killed, 1 s before another worker may be given
    // it. None: it has no silence, as one in this process. TCP tells by itself.
    std::optional<Duration> manager_silence = std::chrono::seconds(9);
    std::optional<Instant> leaves_at;        // its batch job ends then
    bool forks_calls = true;                 // false: its launcher has no functions
    std::chrono::seconds fetch_timeout{60};  // for a URL to answer, and to go on
    std::string kept_cache;  // cached inputs stay in this folder; empty: they go with the worker
    std::string wrapper;     // of `--task-wrapper`: a command that is given each line; empty: none
};

class Worker {
  public:
    Worker(WorkerOptions options, net::Transport& transport, net::PeerId manager,
           launcher::Launcher& launcher, TicketClient* tickets = nullptr,
           launcher::FunctionRunner* functions = nullptr, Background* background = nullptr);
    // Over TCP: not connected yet.
    Worker(WorkerOptions options, launcher::Launcher& launcher, launcher::FunctionRunner* functions = nullptr,
           Background* background = nullptr);

    void start(Instant now);  // says hello
    void on_frame(std::string_view bytes, Instant now);
    void on_manager_left();

    // ---- over TCP: worker_links.cpp ----
    void connect(net::Transport& transport, net::PeerId manager, Instant now);
    void disconnect();  // the link is gone; what it holds stays
    // Its manager is given up: what runs is killed, what was not acknowledged is nobody's.
    Status forget_manager();
    bool welcomed() const { return welcomed_; }  // on this link
    bool has_manager() const { return !token_.empty(); }
    bool expected() const { return expected_; }  // a manager may have leased us something
    Duration grace() const { return grace_; }    // for so long after the manager was heard last
    WorkerId id() const { return id_; }
    // The manager's last word on this link; then it is to be closed.
    const std::optional<wire::Refused>& refused() const { return refused_; }
    const std::optional<wire::Dismiss>& dismissed() const { return dismissed_; }
    bool babbled() const { return babbled_; }  // it sent bytes that are not a message
    // The one that answered is not our manager, or does not know us any more: what we held was ended. Once.
    bool take_forgotten() { return std::exchange(forgotten_, false); }
    const std::string& why_leaving() const { return why_leaving_; }
    bool broken() const { return broken_; }  // it leaves because its launcher is of no use
    bool idle() const { return held_.empty() && answers_.kept().empty(); }
    std::size_t holding() const { return held_.size(); }
    // One, and not a range: whoever made it is likely to wait for it.
    bool runs_one_call() const {
        return functions_ != nullptr && functions_->held() == 1 && functions_->held_of_ranges() == 0;
    }
    std::uint64_t tasks_taken() const { return tasks_taken_; }

    void on_launcher(Instant now);  // its descriptor is readable, or that of the functions
    // Give back what has not started, end when the rest is over. `idle`: for want of tasks.
    void drain(bool idle = false);
    void kill_all();
    // We were sent `signal` to stop. Tasks may have been, too: those that end by it count as killed, not as
    // failed.
    void note_stop(int signal) { signalled_ends_.note_stop(signal); }
    void tick(Instant now);
    std::optional<Instant> wakeup() const;

    bool ended() const { return ended_; }
    bool ranks_lost() const { return ranks_lost_; }  // the run has lost a rank: no MPI_Finalize
    bool manager_lost() const { return manager_lost_; }

  private:
    using Key = std::pair<TaskId, Attempt>;

    void on_message(const wire::Hello&) {}
    void on_message(const wire::Ended&) {}
    void on_message(const wire::GivenBack&) {}
    void on_message(const wire::Account&) {}
    void on_message(const wire::Goodbye&) {}
    void on_message(const wire::EnvironmentReport&) {}
    void on_message(const wire::Beat&) {}
    void on_message(const wire::WantTickets&) {}
    void on_message(const wire::WantTexts&) {}
    void on_message(const wire::SealedBatch& message);
    void on_message(const wire::Tickets& message);
    void on_message(const wire::RevokedBatch& message);
    void on_message(const wire::Refused& message);
    void on_message(const wire::Welcome& message);
    void on_message(const wire::RangeEnded&) {}
    void on_message(const wire::Draining&) {}
    void on_message(const wire::Acknowledged& message) { answers_.forget(message.answers); }
    void on_message(const wire::WantInput&) {}
    void on_message(const wire::OutputPart&) {}
    void on_message(const wire::OutputsSent&) {}
    void on_message(const wire::WatchedPart&) {}
    void on_message(const wire::HaveInput&) {}
    void on_message(const wire::SharesFiles&) {}
    template <class M>
    void on_file_message(const M& message) {
        if (files_) files_->on(message);
    }
    void on_message(wire::InputPart& message) {
        if (files_) files_->on(std::move(message));
    }
    void on_message(const wire::NoInput& message) { on_file_message(message); }
    void on_message(const wire::InputIsAt& message) { on_file_message(message); }
    void on_message(const wire::TakeOutput& message) { on_file_message(message); }
    void on_message(const wire::OutputsKept& message) { on_file_message(message); }
    void on_message(const wire::WatchedTaken& message) { on_file_message(message); }
    void on_message(const wire::Kill& message);
    void on_message(const wire::EnvironmentLine& message);
    void on_message(const wire::Lease& message);
    void on_message(const wire::KillAll& message);
    void on_message(const wire::Recall& message);
    void on_message(const wire::Dismiss& message);

    void on_report(const launcher::TaskStarted&) {}
    void on_report(launcher::TaskEnded& report);
    void on_report(const launcher::OrderReturned& report);
    void on_report(const launcher::EnvironmentOutput& report);
    void on_report(const launcher::EnvironmentExit& report);
    void on_report(const launcher::LauncherDied& report);

    bool over_tcp() const { return !options_.hello.identity.empty(); }
    void answer(const wire::Message& message, std::optional<Key> key);
    void say(const wire::Message& message);

    void answer_end(launcher::TaskEnded& end);
    void answer_loss(Key key, const std::string& why);
    void give_back(Key key);

    // worker_tasks.cpp
    void begin(const wire::Lease& lease, const std::string& sandbox);
    process::Order order_of(const wire::Lease& lease) const;
    void stage(const wire::Lease& lease);
    bool goes_back(const wire::Lease& lease);
    void make(WorkerFiles::Make& input);
    void take_file_events();
    std::uint64_t recall_staging(std::uint64_t most);
    void kill_in_files(const std::function<bool(Key)>& which);
    void lose_files(const std::string& why);

    // worker_calls.cpp
    void call(const wire::Lease& lease);
    void take_call_reports(Instant now);
    void take_ranges(Instant now);
    bool ranges_are_few(Instant now);
    void on_report(launcher::RangeProgress& report);
    void report_end(launcher::TaskEnded& end);

    void begin_to_leave(std::string why);
    void recall(std::uint64_t most);
    void take_tickets(Instant now);
    void run(const wire::Lease& lease, bool ticket);
    void report_ends(Instant now);
    void leave_when_empty();
    void pump(Instant now);

    WorkerOptions options_;
    std::optional<std::uint64_t> output_limit_;  // as the manager wants it
    std::optional<session::Outbox> outbox_;      // none: there is no link
    launcher::Launcher& launcher_;
    TicketClient* tickets_;                // null: this worker is leased all its tasks
    launcher::FunctionRunner* functions_;  // null: it has none, but what its launcher knows
    Background* background_;               // of files; null: it takes no tasks that have any
    std::optional<WorkerFiles> files_;
    int folders_gone_ = 0;
    Prefetch prefetch_;
    ClaimSize claim_size_;
    IntervalSet ranges_;                 // claimed by ticket and run as ranges, not yet reported
    std::optional<BatchId> accounted_;   // what was held of it then is leased to us
    std::optional<Instant> many_since_;  // our account waits for ranges to end
    std::map<Key, bool> held_;           // what is not yet answered; true: claimed by ticket
    std::uint64_t last_environment_ = 0;
    bool leaving_ = false;
    std::string why_leaving_;
    bool idle_out_ = false;
    bool broken_ = false;
    bool ended_ = false;
    SignalledEnds signalled_ends_;
    Instant now_;          // of this look at the launcher
    int idle_deaths_ = 0;  // of launchers, since one had started a task
    bool ranks_lost_ = false;
    bool manager_lost_ = false;
    Instant last_sent_;
    Instant last_heard_;  // by listening_
    ListeningClock listening_{Instant{}, Duration{0}};

    // Over TCP.
    AnswerLog answers_;
    std::string token_;  // of the manager's welcome; empty: none has welcomed us
    WorkerId id_;
    Duration grace_{0};
    bool welcomed_ = false;
    bool shares_files_ = false;  // the manager's are ours
    bool own_folders_ =
        false;  // the manager has no folder that its tasks run in: each runs in one of its own
    bool expected_ = false;
    bool babbled_ = false;
    bool forgotten_ = false;
    std::optional<wire::Refused> refused_;
    std::optional<wire::Dismiss> dismissed_;
    std::uint64_t tasks_taken_ = 0;
};

}  // namespace wq::worker

// A worker of the run: passes leases to its launcher, and outcomes to its manager. It has no clock and no
// descriptor; the loop that owns them calls it. Messages may arrive in any number and order, and twice: a
// lease that the worker already holds is not run again, and a kill of a task that it does not hold is
// ignored.
//
// A TCP worker (its hello has an identity) outlives its link. While it is disconnected, its tasks run on and
// it keeps their outcomes; it continues when it reconnects to the same manager. worker_session.h makes the
// links.
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
#include "core/heartbeats.h"
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
    std::string index_variable;  // a second name for WORK_QUEUE_TASK_INDEX; empty: none
    Duration beat = std::chrono::seconds(1);
    // A manager not heard for this long is lost, and its tasks are killed. None: no limit, for a manager in
    // this process, or over TCP, which notices by itself.
    std::optional<Duration> manager_silence = core::manager_silence;
    std::optional<Instant> leaves_at;        // when its batch job ends
    bool forks_calls = true;                 // false: its launcher has no functions
    std::chrono::seconds fetch_timeout{60};  // longest time without data from a URL
    std::string kept_cache;  // folder where cached inputs stay; empty: removed with the worker
    std::string wrapper;     // of `--task-wrapper`: a command that gets each line; empty: none
};

class Worker {
  public:
    Worker(WorkerOptions options, net::Transport& transport, net::PeerId manager,
           launcher::Launcher& launcher, TicketClient* tickets = nullptr,
           launcher::FunctionRunner* functions = nullptr, Background* background = nullptr);
    // For TCP; not connected yet.
    Worker(WorkerOptions options, launcher::Launcher& launcher, launcher::FunctionRunner* functions = nullptr,
           Background* background = nullptr);

    void start(Instant now);  // sends hello
    void on_frame(std::string_view bytes, Instant now);
    void on_manager_left();

    // ---- over TCP: worker_links.cpp ----
    void connect(net::Transport& transport, net::PeerId manager, Instant now);
    void disconnect();  // the link is gone; the worker keeps its tasks
    // Gives up the manager: kills running tasks, and drops unacknowledged answers.
    Status forget_manager();
    bool welcomed() const { return welcomed_; }  // on this link
    bool has_manager() const { return !token_.empty(); }
    bool expected() const { return expected_; }  // a manager may have leased us tasks
    Duration grace() const { return grace_; }    // counts from when the manager was last heard
    WorkerId id() const { return id_; }
    // The manager's last message on this link; the link must then be closed.
    const std::optional<wire::Refused>& refused() const { return refused_; }
    const std::optional<wire::Dismiss>& dismissed() const { return dismissed_; }
    bool babbled() const { return babbled_; }  // the manager sent bytes that are not a message
    // The manager that answered is another one, or no longer knows us, so our tasks were killed. True once.
    bool take_forgotten() { return std::exchange(forgotten_, false); }
    const std::string& why_leaving() const { return why_leaving_; }
    bool broken() const { return broken_; }  // it leaves because its launcher does not work
    bool idle() const { return held_.empty() && answers_.kept().empty(); }
    std::size_t holding() const { return held_.size(); }
    // Whether it runs a single call that is not a range: its caller probably waits for it.
    bool runs_one_call() const {
        return functions_ != nullptr && functions_->held() == 1 && functions_->held_of_ranges() == 0;
    }

    void on_launcher(Instant now);  // its descriptor, or that of the functions, is readable
    // Returns tasks that have not started, and ends when the rest have ended. `idle`: because there are no
    // tasks.
    void drain(bool idle = false);
    void kill_all();
    // We got `signal`, which stops the run. Tasks may have got it too; those that it ends count as killed,
    // not failed.
    void note_stop(int signal) { signalled_ends_.note_stop(signal); }
    void tick(Instant now);
    std::optional<Instant> wakeup() const;

    bool ended() const { return ended_; }
    bool ranks_lost() const { return ranks_lost_; }  // the run has lost a rank: do not call MPI_Finalize
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
    std::optional<std::uint64_t> output_limit_;  // as set by the manager
    std::optional<session::Outbox> outbox_;      // none while there is no link
    launcher::Launcher& launcher_;
    TicketClient* tickets_;                // null: all tasks come as leases
    launcher::FunctionRunner* functions_;  // null: only the launcher has functions
    Background* background_;               // for files; null: it takes no tasks with files
    std::optional<WorkerFiles> files_;
    int folders_gone_ = 0;
    Prefetch prefetch_;
    ClaimSize claim_size_;
    IntervalSet ranges_;                 // claimed by ticket, run as ranges, not yet reported
    std::optional<BatchId> accounted_;   // its tickets that we held are now leases
    std::optional<Instant> many_since_;  // our account waits for ranges to end
    std::map<Key, bool> held_;           // tasks not yet answered; true: claimed by ticket
    std::uint64_t last_environment_ = 0;
    bool leaving_ = false;
    std::string why_leaving_;
    bool idle_out_ = false;
    bool broken_ = false;
    bool ended_ = false;
    SignalledEnds signalled_ends_;
    Instant now_;          // time of the current on_launcher()
    int idle_deaths_ = 0;  // deaths of launchers since one started a task
    bool ranks_lost_ = false;
    bool manager_lost_ = false;
    Instant last_sent_;
    Instant last_heard_;  // by listening_
    ListeningClock listening_{Instant{}, Duration{0}};

    // Over TCP.
    AnswerLog answers_;
    std::string token_;  // from the manager's welcome; empty: not welcomed yet
    WorkerId id_;
    Duration grace_{0};
    bool welcomed_ = false;
    bool shares_files_ = false;  // we see the manager's files
    bool own_folders_ = false;   // the manager has no folder for its tasks: each gets its own
    bool expected_ = false;
    bool babbled_ = false;
    bool forgotten_ = false;
    std::optional<wire::Refused> refused_;
    std::optional<wire::Dismiss> dismissed_;
};

}  // namespace wq::worker

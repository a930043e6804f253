// A worker of the run: handles the messages of its manager, and joins and leaves. worker_tasks.h runs its
// tasks, manager_link.h sends. It has no clock and no descriptor; the loop that owns them calls it. Messages
// may arrive in any number and order, and twice.
//
// A TCP worker (its hello has an identity) outlives its link. While it is disconnected, its tasks run on and
// it keeps their outcomes; it continues when it reconnects to the same manager. worker_session.h makes the
// links.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/listening_clock.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/model/worker_table.h"
#include "net/frames/transport.h"
#include "net/messages/messages.h"
#include "net/session/outbox.h"
#include "node/launcher/function_runner.h"
#include "node/launcher/launcher.h"
#include "worker/manager_link.h"
#include "worker/ticket_client.h"
#include "worker/worker_tasks.h"

namespace wq::worker {

struct WorkerOptions {
    net::messages::Hello hello;
    node::launcher::LauncherOptions launcher;
    std::string index_variable;  // a second name for WORK_QUEUE_TASK_INDEX; empty: none
    Duration beat = std::chrono::seconds(1);
    // A manager not heard for this long is lost, and its tasks are killed. None: no limit, for a manager in
    // this process, or over TCP, which notices by itself.
    std::optional<Duration> manager_silence = engine::model::manager_silence;
    std::optional<Instant> leaves_at;        // when its batch job ends, and
    std::optional<Instant> job_started;      // when that started
    bool forks_calls = true;                 // false: its launcher has no functions
    std::chrono::seconds fetch_timeout{60};  // longest time without data from a URL
    std::string kept_cache;  // folder where cached inputs stay; empty: removed with the worker
    std::string wrapper;     // of `--task-wrapper`: a command that gets each line; empty: none
};

// The heartbeat of a rank: when to send the next beat, and whether its manager has been silent for so long
// that it is lost. TCP workers do not need it, because TCP notices by itself.
class Heartbeat {
  public:
    // `silence`: a manager not heard for this long is lost; none: it is never lost.
    Heartbeat(Duration beat, std::optional<Duration> silence) : beat_(beat), silence_(silence) {}

    void start(Instant now) {
        last_sent_ = now;
        listening_ = ListeningClock(now, silence_.value_or(Duration{0}));
        last_heard_ = listening_.now();
    }
    void sent(Instant now) { last_sent_ = now; }
    void mark_heard(Instant now) {
        listening_.note_listening(now);
        last_heard_ = listening_.now();
    }
    bool manager_lost(Instant now) {
        listening_.note_listening(now);
        return silence_ && listening_.silent(last_heard_);
    }
    bool due(Instant now) const { return now - last_sent_ >= beat_; }
    Instant wakeup() const {
        const Instant next = last_sent_ + beat_;
        if (!silence_) return next;
        return std::min(next, listening_.next_look(listening_.silence_ends(last_heard_)));
    }

  private:
    Duration beat_;
    std::optional<Duration> silence_;
    Instant last_sent_;
    Instant last_heard_;  // by listening_
    ListeningClock listening_{Instant{}, Duration{0}};
};

// A message about tasks.
template <class M>
concept TaskMessage = requires(WorkerTasks& tasks, M& message) {
    tasks.on(message);
};

template <class M, class... These>
concept one_of = (std::same_as<M, These> || ...);

// A message that workers, or programs that ask for the status, send.
template <class M>
concept NotForWorkers =
    one_of<M, net::messages::Hello, net::messages::Ended, net::messages::GivenBack, net::messages::RangeEnded,
           net::messages::Draining, net::messages::Account, net::messages::WantTickets,
           net::messages::WantTexts, net::messages::Goodbye, net::messages::EnvironmentReport,
           net::messages::Beat, net::messages::WantInput, net::messages::OutputPart,
           net::messages::OutputsSent, net::messages::WatchedPart, net::messages::HaveInput,
           net::messages::SharesFiles, net::messages::SharesMemory, net::messages::StatusQuery,
           net::messages::StatusReport, net::messages::Keeps, net::messages::LastWords,
           net::messages::StatusPart>;

class Worker {
  public:
    Worker(WorkerOptions options, net::frames::Transport& transport, net::frames::PeerId manager,
           node::launcher::Launcher& launcher, TicketClient* tickets = nullptr,
           node::launcher::FunctionRunner* functions = nullptr, Background* background = nullptr);
    // For TCP; not connected yet.
    Worker(WorkerOptions options, node::launcher::Launcher& launcher,
           node::launcher::FunctionRunner* functions = nullptr, Background* background = nullptr,
           functions::coprocess::Runner* coprocesses = nullptr);
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void start(Instant now);  // sends hello
    void on_frame(std::string_view bytes, Instant now);
    void on_manager_left();

    // ---- over TCP ----
    // `address`: our end of the connection.
    void connect(net::frames::Transport& transport, net::frames::PeerId manager, const std::string& address,
                 Instant now);
    void disconnect();  // the worker gives the link up, and keeps its tasks
    // Gives up the manager: kills running tasks, and drops unacknowledged answers.
    Status forget_manager();
    const ManagerLink& link() const { return link_; }
    // The manager that answered is another one, or no longer knows us, so our tasks were killed. True once.
    bool take_forgotten() { return link_.take_forgotten(); }
    const std::string& why_leaving() const { return why_leaving_; }
    bool broken() const { return broken_; }  // it leaves because its launcher does not work
    bool idle() const { return holding() == 0 && link_.all_acknowledged(); }
    std::size_t holding() const { return tasks_.held().size(); }
    // Whether it runs a single call that is not a range: its caller probably waits for it.
    bool runs_one_call() const { return tasks_.runs_one_call(); }

    void on_launcher(Instant now);  // its descriptor, or that of the functions, is readable
    enum class Because : std::uint8_t { asked, idle };
    // Returns tasks that have not started, and ends when the rest have ended.
    void drain(Because why = Because::asked);
    void kill_all() { tasks_.kill_all(); }
    // We got `signal`, which stops the run. Tasks may have got it too; those that it ends count as killed,
    // not failed.
    void note_stop(int signal) { tasks_.note_stop(signal); }
    void tick(Instant now);
    std::optional<Instant> wakeup() const;

    bool ended() const { return ended_; }
    bool ranks_lost() const { return ranks_lost_; }  // the run has lost a rank: do not call MPI_Finalize
    bool manager_lost() const { return manager_lost_; }

  private:
    Worker(WorkerOptions options, std::optional<net::session::Outbox> outbox,
           const WorkerTasks::Parts& parts);

    template <TaskMessage M>
    void on_message(M& message) {
        tasks_.on(message);
    }
    template <NotForWorkers M>
    void on_message(const M&) {}
    void on_message(const net::messages::Welcome& message);
    void on_message(const net::messages::Refused& message);
    void on_message(const net::messages::Dismiss& message);
    void on_message(const net::messages::Acknowledged& message) { link_.on(message); }

    void begin_to_leave(std::string why);
    void leave_when_empty();
    void flush(Instant now);

    WorkerOptions options_;
    ManagerLink link_;
    Heartbeat heartbeat_;
    WorkerTasks tasks_;
    bool leaving_ = false;
    std::string why_leaving_;
    bool idle_out_ = false;
    bool broken_ = false;
    bool ended_ = false;
    bool ranks_lost_ = false;
    bool manager_lost_ = false;
};

}  // namespace wq::worker

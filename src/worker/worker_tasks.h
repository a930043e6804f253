// Runs the tasks of a worker: passes leases and claimed tasks to the launcher, to the functions of this
// process, to its coprocesses or to staging, and their ends to the manager. A lease that the worker already
// holds is not run again, and a kill of a task that it does not hold is ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "functions/coprocess/runner.h"
#include "net/messages/messages.h"
#include "node/launcher/function_runner.h"
#include "node/launcher/launcher.h"
#include "worker/manager_link.h"
#include "worker/order_builder.h"
#include "worker/signalled_ends.h"
#include "worker/staged_tasks.h"
#include "worker/ticket_claims.h"

namespace wq::worker {

struct WorkerOptions;

// A message about tickets.
template <class M>
concept TicketMessage = requires(TicketClaims& claims, M message) {
    claims.on(message);
};

class WorkerTasks {
  public:
    struct Parts {
        node::launcher::Launcher& launcher;
        TicketClient* tickets = nullptr;                      // null: all tasks come as leases
        node::launcher::FunctionRunner* functions = nullptr;  // null: only the launcher has functions
        Background* background = nullptr;                     // for files; null: it takes no tasks with files
        functions::coprocess::Runner* coprocesses = nullptr;  // for remote tasks; null: it takes none
    };
    // Called if no task can run any longer; the worker must then leave.
    enum class LauncherIs : std::uint8_t { usable, broken };
    using Leave = std::function<void(std::string why, LauncherIs launcher)>;

    WorkerTasks(const WorkerOptions& options, ManagerLink& link, Parts parts, Leave leave);

    void on(const net::messages::Lease& message) { run(message, HeldTasks::By::lease); }
    void on(const net::messages::EnvironmentLine& message);
    void on(const net::messages::Kill& message);
    void on(const net::messages::KillAll&) { kill_all(); }
    void on(const net::messages::Recall& message) { recall(message.most); }
    template <TicketMessage M>
    void on(M& message) {
        claims_.on(message);
    }
    template <FileMessage M>
    void on(M& message) {
        staged_.on(message);
    }

    void limit_output(std::uint64_t bytes) { orders_.limit_output(bytes); }
    void welcome(const net::messages::Welcome& message);
    void begin_streams_anew() { staged_.begin_streams_anew(); }
    // Drops all tasks without answers, and restarts the launcher, so that old orders cannot be mistaken for
    // those of the next manager.
    Status forget_manager();

    void note_stop(int signal) { signalled_ends_.note_stop(signal); }
    void kill_all();
    // Returns all tasks that have not started, and those that come later.
    void take_no_more();

    // Handles what the launcher, the functions and staging report.
    void handle_reports(Instant now);
    // Claims tickets. Returns whether there are new orders, which handle_reports() passes on.
    bool claim(Instant now);
    void give_account(Instant now) { claims_.give_account(now); }
    std::optional<Instant> wakeup() const;

    const HeldTasks& held() const { return held_; }
    bool empty() const { return held_.size() == 0 && !claims_.has_ranges(); }
    // Whether it runs a single call that is not a range.
    bool runs_one_call() const {
        return functions_ != nullptr && functions_->held() == 1 && functions_->held_of_ranges() == 0;
    }

  private:
    void run(const net::messages::Lease& lease, HeldTasks::By by);
    void begin(const net::messages::Lease& lease, const std::string& sandbox);
    void call(const net::messages::Lease& lease);
    void call_coprocess(const net::messages::Lease& lease, const std::string& sandbox);
    void recall(std::uint64_t most);

    void on_report(const node::launcher::TaskStarted&) {}
    void on_report(node::launcher::TaskEnded& report);
    void on_report(const node::launcher::OrderReturned& report);
    void on_report(const node::launcher::EnvironmentOutput& report);
    void on_report(const node::launcher::EnvironmentExit& report);
    void on_report(const node::launcher::LauncherDied& report);
    void handle_call_reports(Instant now);
    void handle_remote_reports();
    void handle_end(node::launcher::TaskEnded& end);

    const WorkerOptions& options_;
    ManagerLink& link_;
    node::launcher::Launcher& launcher_;
    node::launcher::FunctionRunner* functions_;
    functions::coprocess::Runner* coprocesses_;
    Leave leave_;
    HeldTasks held_;
    OrderBuilder orders_;
    StagedTasks staged_;
    TicketClaims claims_;
    SignalledEnds signalled_ends_;
    Instant now_;  // time of the current handle_reports()
    std::uint64_t last_environment_ = 0;
    int idle_deaths_ = 0;  // deaths of launchers since one started a task
    bool takes_no_more_ = false;
};

}  // namespace wq::worker

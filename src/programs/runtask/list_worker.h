// A worker: takes the lines of a list one after the other, runs them and marks them.
//
//   shell (worker_shell.h) --- running_lines.h --- ListWorker --- membership.h --- the list
//
// It has one thread, which waits for the shell, and blocks in the store of the list; signal_watch.h hears
// meanwhile what cannot wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "programs/runtask/membership.h"
#include "programs/runtask/options.h"
#include "programs/runtask/running_lines.h"
#include "programs/runtask/signal_watch.h"
#include "programs/runtask/terminal.h"
#include "programs/runtask/worker_plans.h"
#include "programs/runtask/worker_shell.h"
#include "shared_list/text/choice.h"

namespace wq::programs::runtask {

class ListWorker {
  public:
    // Throws Failure and std::runtime_error: no process or thread can be started.
    explicit ListWorker(const Options& options);

    // Until it ends; returns the exit code. Error: the list cannot be used, or the shell not be started.
    Result<int> run();

  private:
    // What is done in a turn. Errors end the worker.
    enum class Then { wait, go_on };
    Result<Then> run_turn();
    Result<Then> take_shell_events();
    void serve_and_report(Instant now);
    Status serve(Instant now);
    Status join(Instant now);
    Status take_lines(Instant now);
    Result<bool> take_line(Instant now);
    void wait();
    std::optional<Instant> next() const;

    // Of lines.
    bool has_room() const;
    void begin(const shared_list::text::Choice& choice);
    void on(const EnvironmentLineEnded& event);
    void on(ShellLeft event);
    void on(TaskEnded event);
    void on_nothing_to_take(Instant now);
    int print_what_is_left(const shared_list::text::Waiting& why);

    // Of lists.
    void choose_list(Joining joining);
    void plan_move(const LineAnswer& answer);
    void move_now(Instant now);

    // Of the end.
    Status between_tries(Duration pause);
    int interrupt();
    void record_and_leave();

    Options options_;
    Terminal terminal_;
    std::function<void(const std::string&)> say_;
    WorkerShell shell_;
    SignalWatch watch_;
    RunningLines running_;
    std::unique_ptr<Membership> member_;

    LookPlan looks_;
    Outage outage_;
    ListMove move_;
    WorkerEnd end_;
    std::string waits_for_;  // as said
};

// The default name of a worker in a list.

// What `hostname` and `hostname -I` print, with a blank between.
std::string default_worker_name();

// Says in words why a worker has nothing to run.

// "waiting for new lines", "waiting: line 5 waits for line 4 (group a)".
std::string waiting_text(const shared_list::text::Waiting& why, const shared_list::text::Document& list,
                         shared_list::text::WorkerId worker);

// `why` less the blocked lines that wait, in the end, for lines of other workers: these may run yet.
shared_list::text::Waiting blocked_for_good(shared_list::text::Waiting why,
                                            const shared_list::text::Document& list,
                                            shared_list::text::WorkerId worker);

// Why `--once` leaves lines undone; "": all are ok. `failed`: lines that failed.
std::string undone_text(const shared_list::text::Waiting& why, std::uint64_t failed);

// "2 lines are for other workers: #@3 #@9; 1 line waits for them"; "": there are none. `blocked`: lines that
// wait.
std::string others_text(const shared_list::text::Document& list, shared_list::text::WorkerId worker,
                        std::uint64_t blocked = 0);

}  // namespace wq::programs::runtask

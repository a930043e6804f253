// A worker: takes the lines of a list one after the other, runs them and marks them.
//
//   shell (worker_shell.h) --- Worker --- membership.h --- the list
//
// It has one thread, which waits for the shell, and blocks in the store of the list; signal_watch.h hears
// meanwhile what cannot wait.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "programs/runtask/membership.h"
#include "programs/runtask/options.h"
#include "programs/runtask/signal_watch.h"
#include "programs/runtask/terminal.h"
#include "programs/runtask/worker_shell.h"
#include "shared_list/replica/line_taker.h"
#include "shared_list/text/choice.h"

namespace wq::programs::runtask {

class Worker {
  public:
    // Throws Failure and std::runtime_error: no process or thread can be started.
    explicit Worker(const Options& options);

    // Until it ends; returns the exit code. Error: the list cannot be used, or the shell not be started.
    Result<int> run();

  private:
    struct Running {
        std::uint64_t number = 0;  // in the list, when it was begun
        std::string begun;         // stamp
        std::string line;
        std::string directory;      // where it began
        std::uint64_t retries = 0;  // left
        bool given_up = false;      // being killed, since others may run it
    };

    // What is done in a turn.
    Status run_turn();
    Status take_shell_events();
    void serve_and_report(Instant now);
    Status serve(Instant now);
    Status join(Instant now);
    Status take_lines(Instant now);
    Result<bool> take_line(Instant now);
    void note_lapse();
    void lapse();
    void give_up_lines();
    void set_times();
    void wait();
    std::optional<Instant> next() const;

    // Of lines.
    bool has_room() const;
    bool can_choose();
    void begin(const shared_list::text::Choice& choice);
    void begin_task(TaskKey key);
    void on(EnvironmentLineEnded event);
    void on(ShellLeft event);
    void on(TaskEnded event);
    bool tries_again(Running& line, const TaskEnded& event);
    bool is_lost(const TaskEnded& event) const;
    void end_line(const Running& line, shared_list::text::TryEnd end, int exit_code);
    void on_nothing_to_take(Instant now);
    int say_what_is_left(const shared_list::text::Waiting& why);
    void peek(Instant now);

    // Of lists.
    void plan_move(const LineAnswer& answer);
    void move_now(Instant now);

    // Of the end.
    bool must_stop() const;
    void heed_signals();
    Status between_tries(Duration pause);
    int interrupt();
    void record_and_leave();

    Options options_;
    Terminal terminal_;
    std::function<void(const std::string&)> say_;
    WorkerShell shell_;
    SignalWatch watch_;
    std::unique_ptr<Membership> member_;
    std::string directory_;  // of the shell

    std::map<TaskKey, Running> running_;
    TaskKey keys_ = 0;
    std::optional<std::uint64_t> environment_;  // number of the `#!` line that runs
    std::optional<TaskKey> after_replay_;       // begins when the `#!` line has ended
    bool said_failing_ = false;                 // of a `#!` line
    bool lapsed_ = false;                       // running_ is being killed

    std::optional<Instant> look_at_;   // nothing to take before, unless a line ends
    std::optional<Instant> peek_at_;   // whether the list has changed, so that it is time to look
    std::optional<std::string> seen_;  // state of the list before the last look
    std::string waits_for_;            // as said

    std::optional<shared_list::replica::Jump> move_;  // to another list, or to another id
    std::uint64_t place_ = 0;                         // in the list that it joins
    std::uint64_t lines_here_ = 0;                    // run since it joined
    int idle_moves_ = 0;                              // one after the other, without a line between
    std::optional<Instant> join_at_{};                // not before

    std::optional<int> leaves_;     // with this exit code, when no line runs any more
    std::optional<int> exit_code_;  // it has left
    std::optional<Error> fatal_;
    bool ends_ = false;  // what has ended is being recorded
    bool busy_ = false;  // more to do before it waits

    std::optional<Error> problem_;  // why the master cannot be reached
    Duration pause_{0};
    Instant try_at_{};
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

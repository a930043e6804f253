// The lines that a worker runs: they begin, are tried again, are killed and end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
#include "shared_list/text/choice.h"

namespace wq::programs::runtask {

class RunningLines {
  public:
    // All outlive it.
    RunningLines(const Options& options, Terminal& terminal, WorkerShell& shell, SignalWatch& watch,
                 std::function<void(const std::string&)> say);
    // Before all other calls. The lines are of the list that `member` has joined, until the next call.
    void belong_to(Membership& member) { member_ = &member; }

    bool any_runs() const { return !lines_.empty(); }
    // Neither a line runs nor a `#!` line.
    bool is_idle() const { return lines_.empty() && !environment_; }
    bool has_room() const;
    // A signal has come, or nobody reads the output any more.
    bool must_stop() const;

    void begin(const shared_list::text::Choice& choice);
    // What has happened in the shell. The caller passes each event on to one of the next three.
    Result<std::vector<ShellEvent>> take_events(Instant now);
    enum class Waiter { none, began };  // the line for which a `#!` line ran again
    Waiter end_environment(const LineAnswer& answer);
    void note_exit(int exit_code);  // of the shell: no line begins any more
    void end_task(TaskEnded event);

    // Lines are being killed, because the worker's lease is over.
    bool are_being_killed() const { return lapsed_; }
    void lapse_if_due();
    // All events of the last lapse were passed on.
    void end_lapse_if_none_runs();
    // Kills lines that others may run.
    void give_up_taken_away();
    // Kills all lines; they wait again.
    void lose_all();
    // Tells the watch until when the lines may run.
    void set_times();

  private:
    struct Running {
        std::uint64_t number = 0;  // in the list, when it was begun
        std::string begun;         // stamp
        std::string line;
        std::string directory;      // where it began
        std::uint64_t retries = 0;  // left
        bool given_up = false;      // being killed, since others may run it
    };
    // A `#!` line that runs.
    struct Environment {
        std::uint64_t number = 0;
        std::optional<TaskKey> waiter;  // begins when it has ended
    };

    void begin_environment(std::uint64_t number, std::optional<TaskKey> waiter);
    void begin_task(TaskKey key);
    bool tries_again(Running& line, const TaskEnded& event);
    bool is_lost(const TaskEnded& event) const;
    void end_line(const Running& line, shared_list::text::TryEnd end, int exit_code);
    void lose_waiter(std::optional<TaskKey> waiter);
    void note_lapse();
    void lapse();

    const Options& options_;
    Terminal& terminal_;
    WorkerShell& shell_;
    SignalWatch& watch_;
    std::function<void(const std::string&)> say_;
    Membership* member_ = nullptr;
    std::string directory_;  // of the shell

    std::map<TaskKey, Running> lines_;
    TaskKey keys_ = 0;
    std::optional<Environment> environment_;
    bool said_failing_ = false;  // of a `#!` line
    bool shell_left_ = false;
    bool lapsed_ = false;  // lines_ are being killed
};

}  // namespace wq::programs::runtask

// Runs the persistent shell of a worker whose list has `#!` lines. The shell reads an endless script that the
// launcher writes: `#!` lines, evaluated in order, and tasks, each in a subshell of it.
//
// A task's subshell must be a child of the launcher, or the launcher could not wait for its exact status and
// usage. So it is forked twice, its parent ends, and the launcher, the nearest subreaper, adopts it. It first
// waits for a line from the launcher, which meanwhile sets its process group and its cores. One order is fed
// at a time.
//
//   launcher                       shell                      task's subshell
//   script "( (...) & echo p $! )" fork, fork
//                                  "p PID", "." when the parent has ended
//   setpgid, sched_setaffinity
//   go "\n"                                                   reads it, evaluates the line
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/launcher/lane.h"
#include "node/launcher/launcher_wire.h"
#include "node/launcher/python_calls.h"
#include "node/process/capture.h"
#include "node/process/poller.h"
#include "node/process/spawn.h"
#include "node/usage/running_tasks.h"

namespace wq::node::launcher {

// Receives what happens to fed orders and lines.
class ShellListener : public StartListener {
  public:
    virtual void line_ended(EnvironmentOutput output) = 0;
    virtual void shell_gone() = 0;  // the processes it had started must be killed
    // A line ended the shell; `lane` is the task that waited for it and has not begun.
    virtual void line_left(EnvironmentExit exit, Lane& lane) = 0;

  protected:
    ~ShellListener() = default;
};

class EnvironmentShell {
  public:
    EnvironmentShell(std::string shell, std::vector<std::string> environment, std::uint64_t output_limit,
                     const rlimit* files, ShellListener& listener);

    void add_line(EnvironmentLine line);
    bool idle() const { return state_ == State::idle; }
    // Brings the shell to the order's position and starts it there. Only when idle.
    void feed(Lane& lane, const machine::CpuMask& mask);
    void abandon();  // drops the order being fed, as if the shell had died

    // The owner polls reply() and the outputs for input, and script() for room while script_pending().
    int reply() const { return reply_read_.get(); }
    int script() const { return script_write_.get(); }
    bool script_pending() const { return !script_text_.empty(); }
    process::Capture& out() { return out_; }
    process::Capture& err() { return err_; }

    void on_reply();
    void on_script_room();
    pid_t pid() const { return pid_; }
    std::uint64_t generation() const { return generation_; }  // counts the shells started
    void died(int status);                                    // called when it was reaped

  private:
    enum class State : std::uint8_t { idle, running_line, starting_task };
    static constexpr int most_restarts = 3;  // for one order

    void advance();
    std::optional<StartProblem> launch();
    void discard();
    void run_line(const std::string& text);
    void begin_task();
    void release_task();
    std::string go_word() const;
    void try_again(std::string reason);
    void give_up(StartProblem problem);
    void write_script(const std::string& text);
    void on_line(const std::string& line);
    EnvironmentOutput take_output(int exit_code);

    std::string shell_;
    std::vector<std::string> environment_;
    std::uint64_t output_limit_;
    const rlimit* files_;
    ShellListener& listener_;
    process::ChildStack stack_;
    std::string fd_folder_;  // "/proc/PID/fd/": how the shell and its children open our pipes
    process::Capture out_;
    process::Capture err_;
    Descriptor reply_read_, reply_write_;
    Descriptor script_read_, script_write_;
    std::string script_name_;  // the script's path, as in the shell's messages
    std::string script_text_;  // not yet written to the pipe
    std::string reply_text_;   // an unfinished line
    std::vector<EnvironmentLine> lines_;

    State state_ = State::idle;
    pid_t pid_ = 0;
    std::uint64_t generation_ = 0;  // of the shell: output of earlier shells is skipped
    std::size_t done_ = 0;          // how many of lines_ this shell has run
    Lane* lane_ = nullptr;
    machine::CpuMask mask_;
    pid_t subshell_ = 0;
    int restarts_ = 0;
};

// Polls for the worker's shell, whichever one is the present one: what it answers and writes, and room for
// what it is to read.
class ShellWatch {
  public:
    ShellWatch(EnvironmentShell& shell, process::Poller& poller, OutputWatch& outputs,
               usage::Leftovers& leftovers);

    // One of the shell's descriptors in the poller.
    void ready(process::PollSource source);
    // Call it after anything that may have started a new shell or given it more to read.
    void watch_descriptors();

  private:
    EnvironmentShell& shell_;
    process::Poller& poller_;
    OutputWatch& outputs_;
    usage::Leftovers& leftovers_;
    std::uint64_t generation_ = 0;  // of the shell that is watched
    bool script_in_poller_ = false;
};

}  // namespace wq::node::launcher

// A Python interpreter that is kept warm: it has started, and imported what calls need. It forks the
// processes that run calls (call_process.h), some before they are needed.
//
//   launcher                                interpreter.py
//                                           "h"                  has started
//   "COUNT"                                 forks so many processes; for each,
//                                           "c PID", a socket    it waits for a call
//                                           "x COUNT WHY"        cannot fork so many of them
//                                           "e PID STATUS USAGE..."  that process has ended
//                                           "n"                  has imported more: older processes are out
//                                           of date
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"
#include "node/calls/call_process.h"
#include "node/calls/python_call.h"
#include "node/process/poller.h"
#include "node/process/spawn.h"

namespace wq::node::calls {

struct InterpreterSettings {
    std::string file;                      // the interpreter; empty: that of `archive`
    int archive = -1;                      // a packed environment
    bool fresh = false;                    // it imports nothing for calls
    std::vector<std::string> environment;  // of its process
    const rlimit* files = nullptr;         // RLIMIT_NOFILE for it; nullptr: ours
};

class Interpreter {
  public:
    // running() says whether it started.
    Interpreter(const InterpreterSettings& settings, process::Poller& poller, Listener& listener);
    ~Interpreter();
    Interpreter(const Interpreter&) = delete;

    bool running() const { return pid_ > 0; }
    pid_t pid() const { return pid_; }
    int descriptor() const { return socket_.get(); }
    const std::string& why_not() const { return why_not_; }
    bool may_pass() const { return may_pass_; }  // why_not() is a shortage
    // The last lines that it wrote to stderr, as one.
    std::string last_words() const;

    // Gives it to a process, or keeps it until there is one.
    void start(std::unique_ptr<Request> request);
    // Takes back one that waits for a process. Null: it does not.
    std::unique_ptr<Request> withdraw(std::uint64_t serial);
    // Tells the listener what it has said, without waiting. False: it is gone.
    bool receive();
    // Takes what process `pid` has said. False: this interpreter did not fork it.
    bool process_ready(pid_t pid);
    // The requests that no process has begun, nor will.
    std::deque<std::unique_ptr<Request>> take_requests();
    // Calls that have begun and not ended: serial and process.
    std::vector<std::pair<std::uint64_t, pid_t>> running_calls() const;

    bool idle() const;
    bool waited_for() const { return asked_ > 0; }
    Instant waited_for_since() const { return asked_since_; }  // or since its last answer
    // The process of a call has ended since then, and it does not tell it.
    std::optional<Instant> silent_since() const;
    bool ready() const { return ready_; }            // it has started
    bool has_forked() const { return has_forked_; }  // a process for calls
    Instant since() const { return since_; }         // when it was last in use
    // Ends processes that calls have shared and none has used for a while, with what they keep in memory.
    void dismiss_unused(Instant now);
    Instant next_dismissal() const;  // Instant::max(): none

    void kill();
    bool was_killed() const { return killed_; }  // by us
    void reaped() { pid_ = 0; }

  private:
    void spawn(const InterpreterSettings& settings);
    void cannot_start(const std::string& what, int error);
    void take(const InterpreterReport& report, std::vector<Descriptor>& files);
    void take_process(pid_t pid, std::vector<Descriptor>& files);
    void handle_end(pid_t pid, PythonCallEnd end);
    void handle_reported_end(CallProcess& process);
    void handle_failure(std::size_t count, const std::string& why);
    void dismiss_outdated();
    void give_waiting();
    CallProcess* process_for(const Request& request) const;
    void give(CallProcess& process);
    void ask();
    std::size_t spare() const;
    CallProcess* process_of(pid_t pid) const;

    process::Poller& poller_;
    Listener& listener_;
    process::ChildStack stack_;
    Descriptor socket_;
    Descriptor errors_;  // memory that is its stderr
    pid_t pid_ = 0;
    std::string why_not_;
    bool may_pass_ = false;
    std::deque<std::unique_ptr<Request>> waiting_;  // for a process
    std::vector<std::unique_ptr<CallProcess>> processes_;
    std::size_t asked_ = 0;    // processes that it is to fork
    bool forks_fail_ = false;  // until something has changed: spare ones are not asked for
    bool has_forked_ = false;
    bool ready_ = false;
    bool killed_ = false;
    Instant asked_since_;
    Instant since_;
};

// The script of an interpreter (interpreter.py) and unpack.sh, which the build makes a part of the program: a
// worker of one file needs no other.
extern const std::string_view script;
extern const std::string_view unpack;

}  // namespace wq::node::calls

// A Python interpreter that is kept warm: it has started, and imported what calls need. For each call it
// forks a process that runs this one call and ends, so that no call sees what another left in memory.
//
//   launcher                                interpreter.py                 the call's process
//                                           "h" once it has started
//   request, with its four descriptors      fork
//                                           "f SERIAL PID"                 runs the call, writes the result
//                                           "e SERIAL STATUS USAGE..."     has ended
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"
#include "interpreters/request.h"
#include "process/spawn.h"

namespace wq::interpreters {

struct InterpreterSettings {
    std::string file;                      // the interpreter; empty: that of `archive`
    int archive = -1;                      // a packed environment
    std::vector<std::string> environment;  // of its process
    const rlimit* files = nullptr;         // RLIMIT_NOFILE for it; nullptr: ours
};

class Interpreter {
  public:
    explicit Interpreter(const InterpreterSettings& settings);  // running() says whether it started
    ~Interpreter();
    Interpreter(const Interpreter&) = delete;

    bool running() const { return pid_ > 0; }
    pid_t pid() const { return pid_; }
    int descriptor() const { return socket_.get(); }
    const std::string& why_not() const { return why_not_; }
    // The last lines that it wrote to stderr, as one.
    std::string last_words() const;

    // Sends it, or keeps it until there is room (receive() sends it then). False: the interpreter is gone;
    // take_requests() has it.
    bool send(std::unique_ptr<Request> request, Listener& listener);
    // Tells the listener what it has said, without waiting. False: it is gone.
    bool receive(Listener& listener);
    // The requests without an answer, in order.
    std::deque<std::unique_ptr<Request>> take_requests() { return std::move(asked_); }
    bool idle() const { return asked_.empty() && running_calls_.empty(); }
    bool waited_for() const { return !asked_.empty(); }
    bool ready() const { return ready_; }  // it has started
    void note_running(std::uint64_t serial, pid_t pid) { running_calls_[serial] = pid; }
    // Processes of the calls that it has forked and not waited for, by serial.
    const std::map<std::uint64_t, pid_t>& running_calls() const { return running_calls_; }
    // When the oldest request was sent, or the interpreter was last in use.
    Instant since() const { return since_; }

    void kill();
    void reaped() { pid_ = 0; }

  private:
    bool write_next(Listener& listener);
    void refuse(std::size_t at, std::size_t bytes, int error, Listener& listener);
    void take(const char* text, Listener& listener);
    void take_end(std::uint64_t serial, const char* text, Listener& listener);
    bool answers(std::uint64_t serial);

    process::ChildStack stack_;
    Descriptor socket_;
    Descriptor errors_;  // memory that is its stderr
    pid_t pid_ = 0;
    std::string why_not_;
    std::deque<std::unique_ptr<Request>> asked_;  // sent ones first
    std::size_t sent_ = 0;
    std::map<std::uint64_t, pid_t> running_calls_;
    bool ready_ = false;
    Instant since_;
};

}  // namespace wq::interpreters

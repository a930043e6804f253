// A Python interpreter that is kept warm: it has started, and imported what calls need. For each call it
// forks a process that runs this one call and ends, so that no call sees what another left in memory.
//
// The process must become a child of the launcher, which waits for its exact status and usage. So it is
// forked twice, its parent ends, and the launcher, the nearest subreaper, adopts it (as with the worker's
// shell). It waits for a byte from the launcher, which meanwhile sets its process group and its cores.
//
//   launcher                           interpreter.py            the call's process
//   request, with five descriptors     fork, fork
//                                      "f SERIAL PID" when the parent has ended
//   setpgid, sched_setaffinity
//   go                                                           reads it, runs the call, writes the result
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"
#include "interpreters/request.h"
#include "process/spawn.h"

namespace wq::interpreters {

struct InterpreterSettings {
    std::string file;                      // the interpreter
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
    bool send(std::unique_ptr<Request> request);
    // What it has said, without waiting. `gone`: there will be no more.
    struct News {
        std::uint64_t serial = 0;
        pid_t pid = 0;  // 0: refused
        std::string refusal;
        bool abandoned = false;
    };
    std::vector<News> receive(bool& gone);
    // The requests without an answer, in order.
    std::deque<std::unique_ptr<Request>> take_requests() { return std::move(asked_); }
    bool idle() const { return asked_.empty(); }
    void abandon(std::uint64_t serial);
    // When the oldest request was sent, or the interpreter was last in use.
    Instant since() const { return since_; }

    void kill();
    void reaped() { pid_ = 0; }

  private:
    bool write_next();

    process::ChildStack stack_;
    Descriptor socket_;
    Descriptor errors_;  // memory that is its stderr
    pid_t pid_ = 0;
    std::string why_not_;
    std::deque<std::unique_ptr<Request>> asked_;  // sent ones first
    std::size_t sent_ = 0;
    Instant since_;
};

}  // namespace wq::interpreters

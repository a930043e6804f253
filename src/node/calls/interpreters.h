// The warm interpreters of a launcher: one for each Python that calls need, started for the first of them,
// and another for its calls that must find no modules imported.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/calls/interpreter.h"
#include "node/calls/python_call.h"
#include "node/process/poller.h"

namespace wq::node::calls {

class Interpreters {
  public:
    // `environment`: of the interpreters, "NAME=value".
    Interpreters(std::vector<std::string> environment, std::string path, const rlimit* files,
                 process::Poller& poller, Listener& listener);

    // The listener learns what becomes of it, perhaps before this returns.
    void start(const PythonCall& call, std::unique_ptr<Request> request);

    // Takes it back if it has not been given to a process; the listener learns nothing more of it.
    bool withdraw(std::uint64_t serial);

    // A member of the poller with PollSource::interpreter is ready.
    void ready(std::size_t number);
    // The same with PollSource::call_process.
    void process_ready(std::size_t number);
    // A child was reaped, with this status; perhaps none of ours.
    void reaped(pid_t pid, int status);
    // Ends those that are stuck, or that nobody has used for a while.
    void check(Instant now);
    std::optional<Instant> next_check() const;

  private:
    struct KeptInterpreter {
        std::size_t number = 0;
        std::string key;
        std::string name;    // for messages: the interpreter, or the archive
        bool fresh = false;  // it imports nothing for calls
        Descriptor archive;  // of its environment, if it has one
        std::unique_ptr<Interpreter> interpreter;
        int failures = 0;  // to start, in a row
    };
    KeptInterpreter& kept_for(const std::string& key, const std::string& name, bool fresh);
    bool begin(KeptInterpreter& kept);
    void send(KeptInterpreter& kept, std::unique_ptr<Request> request);
    void begin_anew(KeptInterpreter& kept, std::string why, Refusal kind);
    void leave(std::unique_ptr<Interpreter> ended);
    void report_orphans(const Interpreter& ended);
    static Instant due(const KeptInterpreter& kept);
    void refuse(std::unique_ptr<Request> request, const std::string& why, Refusal kind);
    void end_least_used();

    std::vector<std::string> environment_;
    std::string path_;
    const rlimit* files_;
    process::Poller& poller_;
    Listener& listener_;
    std::vector<std::unique_ptr<KeptInterpreter>> kept_;
    std::vector<std::unique_ptr<Interpreter>> leaving_;  // ended, and not waited for
    std::size_t numbers_ = 0;
};

}  // namespace wq::node::calls

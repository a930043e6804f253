// A process that an interpreter has forked to run calls. It waits for the first one; if that allows it,
// others follow. It has a socket of its own:
//
//   launcher                                call_process.py
//   request, with its four descriptors      runs the call, writes the result, and ends, as its interpreter
//                                           tells; or, if other calls may run in it,
//                                           "STATUS USAGE..."     the call has ended
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/time.h"
#include "node/calls/python_call.h"

namespace wq::node::calls {

class CallProcess {
  public:
    CallProcess(pid_t pid, Descriptor socket) : pid_(pid), socket_(std::move(socket)) {}

    pid_t pid() const { return pid_; }
    int descriptor() const { return socket_.get(); }
    bool idle() const { return socket_.valid() && !request_; }
    // Since when its end is known, from its socket, but has not been told while it has a call.
    std::optional<Instant> ended_since() const { return request_ ? ended_since_ : std::nullopt; }
    bool used() const { return used_; }                        // for a call that has ended, or runs
    Instant since() const { return since_; }                   // its last call ended
    const Request* request() const { return request_.get(); }  // that it has

    // Gives it a call. If this fails, `request` keeps it.
    enum class Given : std::uint8_t {
        yes,
        gone,
        impossible
    };  // gone: the process; impossible: errno says why
    Given give(std::unique_ptr<Request>& request);
    // The end of its call, if it says so: it waits for the next one then.
    std::optional<PythonCallEnd> receive();
    // Its call, if it has not begun it; it will not from then on. Null: it has.
    std::unique_ptr<Request> take_away();
    // The same for a process that has ended.
    std::unique_ptr<Request> take_unbegun() { return has_begun() ? nullptr : std::move(request_); }
    void forget_request() { request_.reset(); }
    // From the usage of the whole process: what receive() has told of earlier calls. Not of the peak.
    void subtract_told(rusage& usage) const;
    // It ends as soon as it has no call.
    void dismiss() { socket_.reset(); }

  private:
    bool has_begun() const;

    pid_t pid_;
    Descriptor socket_;
    std::unique_ptr<Request> request_;
    bool used_ = false;
    Instant since_{};
    std::optional<Instant> ended_since_;
    rusage told_{};
};

// A report of an interpreter or one of its processes to the launcher (interpreter.h and the comment above
// list the texts). The functions of users run there, so a report may have any bytes.
struct InterpreterReport {
    enum class Kind { started, forked, impossible, ended, imported };
    Kind kind{};
    pid_t pid = 0;          // forked or ended: above 0
    std::size_t count = 0;  // impossible: so many processes
    std::string why;        // impossible
    PythonCallEnd end;      // ended
};
// nullopt: it is none, and nothing is known of it.
std::optional<InterpreterReport> report_in(std::string_view text);

// "STATUS USER_US SYSTEM_US PEAK_KB BLOCKS_READ BLOCKS_WRITTEN VOLUNTARY INVOLUNTARY". nullopt: it is not
// that.
std::optional<PythonCallEnd> end_in(std::string_view text);

}  // namespace wq::node::calls

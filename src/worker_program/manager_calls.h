// Finds the manager of a worker by address, contact file or name. Every call reads the options again, because
// a restarted manager writes a new file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/contact.h"
#include "net/tcp_dialer.h"
#include "worker/worker_session.h"
#include "worker_program/worker_options.h"

namespace wq::worker_program {

class ManagerCalls {
  public:
    // Error: the password cannot be read.
    static Result<ManagerCalls> of(const WorkerProgramOptions& options);

    // Errors: unreachable if no manager can be called now; another code if further calls are useless.
    // `waits`: the manager of the last answered call waits for us, so call no other.
    Result<worker::Call> begin(bool waits);

    const net::TcpDialOptions& last() const { return last_; }  // how the last call was made

    // Warns the user about the security of the connection; empty: nothing to warn about.
    std::string warning() const;

  private:
    explicit ManagerCalls(const WorkerProgramOptions& options);
    Result<net::Contact> contact(bool waits);
    Error none_matches() const;
    Result<net::TcpDialOptions> where(bool waits);

    const WorkerProgramOptions* options_;
    std::string password_;
    std::string of_password_;  // a warning; "": none
    net::TcpDialOptions last_;
    // With a name: the manager called last, and the number of successive unanswered calls.
    std::optional<net::Contact> called_;
    std::shared_ptr<std::uint64_t> unanswered_;
};

}  // namespace wq::worker_program

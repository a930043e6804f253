// Finds the manager of a worker by address, contact file or name. Reads the options anew for each call,
// because a restarted manager writes a new file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/worker_options.h"
#include "net/contact.h"
#include "net/tcp_dialer.h"
#include "worker/worker_session.h"

namespace wq::cli {

class ManagerCalls {
  public:
    // Error: a password that cannot be read.
    static Result<ManagerCalls> of(const WorkerProgramOptions& options);

    // Errors: unreachable when there is nobody to call now; others when calling is no use.
    // `waits`: the manager of the last call that was answered waits for us; no other one is to be called.
    Result<worker::Call> begin(bool waits);

    // What the user should know of how safe this is; empty: nothing.
    std::string warning() const;

  private:
    explicit ManagerCalls(const WorkerProgramOptions& options);
    Result<net::Contact> contact(bool waits);
    Error none_matches() const;
    Result<net::TcpDialOptions> where(bool waits);

    const WorkerProgramOptions* options_;
    std::string password_;
    // By name: whom it called last, and how many calls in a row were not answered.
    std::optional<net::Contact> called_;
    std::shared_ptr<std::uint64_t> unanswered_;
};

}  // namespace wq::cli

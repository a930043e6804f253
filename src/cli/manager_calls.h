// Where a worker's manager is found, and how it is called: by an address, a contact file or a name. What the
// options name is looked at anew for each call, since a manager that was started again writes a new file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/worker_session.h"
#include "cli/worker_options.h"
#include "transport/contact.h"
#include "transport/tcp_dialer.h"

namespace wq::cli {

class ManagerCalls {
  public:
    // Error: a password that cannot be read.
    static Result<ManagerCalls> of(const WorkerProgramOptions& options);

    // Errors: unreachable when there is nobody to call now; others when calling is no use.
    // `waits`: the manager of the last call that was answered waits for us; no other one is to be called.
    Result<app::Call> begin(bool waits);

    // What the user should know of how safe this is; empty: nothing.
    std::string warning() const;

  private:
    explicit ManagerCalls(const WorkerProgramOptions& options);
    Result<transport::Contact> contact(bool waits);
    Error none_matches() const;
    Result<transport::TcpDialOptions> where(bool waits);

    const WorkerProgramOptions* options_;
    std::string password_;
    // By name: whom it called last, and how many calls in a row were not answered.
    std::optional<transport::Contact> called_;
    std::shared_ptr<std::uint64_t> unanswered_;
};

}  // namespace wq::cli

// Where a worker's manager is found, and how it is called: by an address, a contact file or a name. What the
// options name is looked at anew for each call, since a manager that was started again writes a new file.
#pragma once

#include <string>

#include "app/worker_session.h"
#include "cli/worker_options.h"
#include "transport/tcp_dialer.h"

namespace wq::cli {

class ManagerCalls {
  public:
    // Error: a password that cannot be read.
    static Result<ManagerCalls> of(const WorkerProgramOptions& options);

    // Errors: unreachable when there is nobody to call now; others when calling is no use.
    Result<app::Call> begin();

    // What the user should know of how safe this is; empty: nothing.
    std::string warning() const;

  private:
    explicit ManagerCalls(const WorkerProgramOptions& options) : options_(&options) {}
    Result<transport::TcpDialOptions> where();

    const WorkerProgramOptions* options_;
    std::string password_;
};

}  // namespace wq::cli

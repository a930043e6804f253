// Prepares the inputs of a lease before it is sent: their kinds, keys of cached contents, and small contents.
// Inputs are prepared one after the other, a few megabytes per job.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "files/transfers/transfer_tally.h"
#include "files/trees/fingerprint.h"
#include "files/trees/problem.h"
#include "files/trees/task_files.h"
#include "net/messages/messages.h"

namespace wq::files::transfers {

class InputPreparation {
  public:
    // The lease's part about files, or why the task cannot have its files.
    using Prepared = std::variant<net::messages::LeaseFiles, trees::Problem>;
    using Then = std::function<void(const Prepared&)>;
    class Lease;  // being prepared

    explicit InputPreparation(FileJobs& jobs) : jobs_(jobs) {}

    // Calls `then` later, unless the lease is dropped first.
    std::shared_ptr<Lease> prepare(std::shared_ptr<const trees::TaskFiles> files, Then then);
    static void drop(Lease& lease);

  private:
    // Used by the background thread: a key is computed once for all leases that need it at the time.
    struct Keys {
        trees::KeyMemo memo;
        std::set<std::string> in_work;
    };
    void go_on(const std::shared_ptr<Lease>& lease);
    void go_on_with_parked();

    FileJobs& jobs_;
    std::shared_ptr<Keys> keys_ = std::make_shared<Keys>();
    std::vector<std::shared_ptr<Lease>> parked_;  // wait for keys that others compute
};

}  // namespace wq::files::transfers

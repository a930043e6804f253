// Builds the launcher's orders: from leases, and for the commands and fetches that create inputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "net/messages/messages.h"
#include "node/process/order.h"
#include "worker/worker_files.h"

namespace wq::worker {

struct WorkerOptions;

class OrderBuilder {
  public:
    explicit OrderBuilder(const WorkerOptions& options);

    void limit_output(std::uint64_t bytes);  // as set by the manager
    void welcome(const net::messages::Welcome& message);
    void forget_manager() { first_environment_.reset(); }

    // `sandbox`: where it runs. Empty: where the launcher runs tasks; but a call gets its own folder if the
    // manager has no folder for its tasks.
    node::process::Order of_lease(const net::messages::Lease& lease, const std::string& sandbox) const;
    node::process::Order of_input(WorkerFiles::Make input) const;
    // The text of a `#!` line. The first one sets WORKERID, so that later ones may change it.
    std::string of_environment(const net::messages::EnvironmentLine& line);

  private:
    std::string index_variable_;
    std::string wrapper_;
    std::chrono::seconds fetch_timeout_;
    std::optional<std::uint64_t> output_limit_;
    std::optional<WorkerId> worker_;  // over TCP
    bool own_folders_ = false;
    std::optional<std::uint64_t> first_environment_;
};

}  // namespace wq::worker

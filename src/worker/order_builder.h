// Builds the launcher's orders: from leases, and for the commands and fetches that create inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "process/order.h"
#include "wire/messages.h"
#include "worker/worker_files.h"
#include "worker/worker_options.h"

namespace wq::worker {

class OrderBuilder {
  public:
    explicit OrderBuilder(const WorkerOptions& options);

    void limit_output(std::uint64_t bytes);  // as set by the manager
    void welcome(const wire::Welcome& message);

    // `sandbox`: where it runs; empty: where the launcher runs tasks.
    process::Order of_lease(const wire::Lease& lease, const std::string& sandbox) const;
    process::Order of_input(WorkerFiles::Make input) const;

  private:
    std::string index_variable_;
    std::string wrapper_;
    std::chrono::seconds fetch_timeout_;
    std::optional<std::uint64_t> output_limit_;
    std::optional<WorkerId> worker_;  // over TCP
};

}  // namespace wq::worker

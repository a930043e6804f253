// What programs are told of their workers.
#pragma once

#include <cstdint>
#include <vector>

#include "manager/manager.h"
#include "work_queue/statistics.h"

namespace wq::program_manager {

// By their ids.
std::vector<WorkerSummary> summaries_of(const manager::Manager& manager);

// Workers that are equal, and connected.
struct WorkerGroup {
    std::int64_t workers = 0;
    double cores = 0;
    std::int64_t memory = 0;
    std::int64_t disk = 0;
    double gpus = 0;
};
std::vector<WorkerGroup> groups_of(const std::vector<WorkerSummary>& workers);

}  // namespace wq::program_manager

// What programs, and those who look from elsewhere, are told of a manager: values of public types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manager/manager.h"
#include "manager/status/records.h"

namespace wq::manager::status {

Statistics statistics_of(const engine::model::ManagerStats& stats);

DispatchedTask dispatched(TaskId task, const engine::model::Ledger& ledger);
// Only what it offers, and what of that is in use.
WorkerSummary resources_of(const engine::model::Worker& worker);
WorkerSummary summary_of(const engine::model::Worker& worker, const manager::Manager& manager);
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

// Those with settings or tasks.
std::vector<CategoryOfStatus> categories_of(const manager::Manager& manager);

// Of unfinished tasks; nothing if they have more than 1,000 shapes, which takes too long to look at.
std::optional<RequestSums> requests_of(const manager::Manager& manager);

std::vector<std::string> blocked_hosts_of(const manager::Manager& manager);

}  // namespace wq::manager::status

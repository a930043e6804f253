// What programs, and those who look from elsewhere, are told of a manager: values of public types.
#pragma once

#include <cstdint>
#include <optional>
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

// Lists a manager's queue for programs that ask, on the manager's thread, in parts.

// What only the owner of a manager knows of its queue.
class Queue {
  public:
    virtual ~Queue() = default;
    virtual QueueOfStatus described() const = 0;
    virtual engine::model::ManagerStats stats() const = 0;
    // By which name, and how, users know a task; nullopt: they do not know it any more. Its state, category,
    // priority, requests and place are the manager's.
    virtual std::optional<TaskOfStatus> task(TaskId task) const = 0;
};

class Lister final : public manager::StatusLister {
  public:
    // Both outlive it.
    Lister(const manager::Manager& manager, const Queue& queue) : manager_(manager), queue_(queue) {}
    net::messages::StatusPart part(net::messages::StatusOf what, std::uint64_t from) override;
    std::optional<net::messages::StatusOf> named(std::string_view listing) const override {
        return status_of(listing);
    }

  private:
    QueueParts parts() const;
    net::messages::StatusPart tasks(std::uint64_t from) const;
    net::messages::StatusPart workers(std::uint64_t from) const;
    std::optional<TaskOfStatus> whole(TaskId id) const;

    const manager::Manager& manager_;
    const Queue& queue_;
};

}  // namespace wq::manager::status

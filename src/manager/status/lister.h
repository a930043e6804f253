// What programs, and those who look from elsewhere, are told of a manager: values of public types.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/manager_stats.h"
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

// When a manager announces its queue: every 30 s, and within 2 s after the number of workers has changed,
// the first task has begun to wait, or none waits any more.
class Announcing {
  public:
    // Gets what makes the record; it need not call it. Returns false if it cannot take one now. Gets an empty
    // function 2 s later: what became of the record can be said.
    using Announce = std::function<bool(const std::function<std::string()>& record)>;

    // `announce` may be empty: then nothing is ever due.
    Announcing(Lister& lister, Announce announce) : lister_(lister), announce_(std::move(announce)) {}

    // Each turn of the manager's loop. Returns when to call it next.
    std::optional<Instant> announce_if_due(const engine::model::ManagerStats& stats, Instant now);
    void changed() { changed_ = true; }  // something else in the record

  private:
    Lister& lister_;
    const Announce announce_;
    bool changed_ = true;
    bool settled_ = true;  // it got the empty function
    std::int64_t workers_ = 0;
    bool has_waiting_ = false;
    Instant last_{};
};

}  // namespace wq::manager::status

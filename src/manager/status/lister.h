// Lists a manager's queue for programs that ask, on the manager's thread, in parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "manager/manager.h"
#include "manager/status/records.h"

namespace wq::manager::status {

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

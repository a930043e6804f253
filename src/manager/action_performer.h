// Performs the core's decisions: its actions become messages to workers, file transfers, and records.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/events.h"
#include "manager/lease_sender.h"
#include "manager/links.h"
#include "manager/manager_times.h"
#include "manager/router.h"
#include "manager/run_records.h"
#include "manager/storage_watch.h"
#include "manager/ticket_server.h"
#include "manager/worker_messages.h"
#include "manager/worker_sessions.h"

namespace wq::manager {

class ActionPerformer {
  public:
    struct Receivers {
        Links& links;
        LeaseSender& leases;
        TicketServer& tickets;
        WorkerSessions& sessions;
        WorkerMessages& messages;
        RunRecords& records;
        StorageWatch& storage;
        ManagerTimes& times;
    };
    // `how_to_keep_hosts` follows the line that says that a host is excluded. `clock` measures sending.
    ActionPerformer(Receivers receivers, Router& router, std::string how_to_keep_hosts,
                    const std::function<Instant()>& clock)
        : to_(receivers), router_(router), how_to_keep_hosts_(std::move(how_to_keep_hosts)), clock_(clock) {}

    // Performs the actions in order, and moves their contents to the receivers.
    void perform(std::vector<engine::model::Action>& actions, engine::model::Now now);

    const std::optional<engine::model::Finished>& finished() const { return finished_; }

  private:
    // Tasks.
    void act_on(engine::model::Lease& action, engine::model::Now now);
    void act_on(const engine::model::Kill& action, engine::model::Now now);
    void act_on(const engine::model::KillAll& action, engine::model::Now now);
    void act_on(const engine::model::Recall& action, engine::model::Now now);
    void act_on(engine::model::AttemptEnded& action, engine::model::Now now);
    void act_on(const engine::model::LeaseRequeued& action, engine::model::Now now);
    void act_on(engine::model::RangeEnded& action, engine::model::Now now);
    void act_on(const engine::model::Cancelled& action, engine::model::Now now);
    void act_on(engine::model::Skipped& action, engine::model::Now now);
    // Tickets.
    void act_on(const engine::model::Seal& action, engine::model::Now now);
    void act_on(const engine::model::Revoke& action, engine::model::Now now);
    void act_on(const engine::model::BatchOver& action, engine::model::Now now);
    // Workers and hosts.
    void act_on(const engine::model::Dismiss& action, engine::model::Now now);
    void act_on(const engine::model::HostExcluded& action, engine::model::Now now);
    void act_on(const engine::model::HostReleased& action, engine::model::Now now);
    // The run.
    void act_on(const engine::model::CategoryChanged& action, engine::model::Now now);
    void act_on(const engine::model::Warning& action, engine::model::Now now);
    void act_on(const engine::model::Finished& action, engine::model::Now now);

    Receivers to_;
    Router& router_;
    const std::string how_to_keep_hosts_;
    const std::function<Instant()>& clock_;
    std::optional<engine::model::Finished> finished_;
};

}  // namespace wq::manager

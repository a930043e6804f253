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
    void perform(std::vector<core::Action>& actions, core::Now now);

    const std::optional<core::Finished>& finished() const { return finished_; }

  private:
    // Tasks.
    void act_on(core::Lease& action, core::Now now);
    void act_on(const core::Kill& action, core::Now now);
    void act_on(const core::KillAll& action, core::Now now);
    void act_on(const core::Recall& action, core::Now now);
    void act_on(core::AttemptEnded& action, core::Now now);
    void act_on(const core::LeaseRequeued& action, core::Now now);
    void act_on(core::RangeEnded& action, core::Now now);
    void act_on(const core::Cancelled& action, core::Now now);
    void act_on(core::Skipped& action, core::Now now);
    // Tickets.
    void act_on(const core::Seal& action, core::Now now);
    void act_on(const core::Revoke& action, core::Now now);
    void act_on(const core::BatchOver& action, core::Now now);
    // Workers and hosts.
    void act_on(const core::Dismiss& action, core::Now now);
    void act_on(const core::HostExcluded& action, core::Now now);
    void act_on(const core::HostReleased& action, core::Now now);
    // The run.
    void act_on(const core::CategoryChanged& action, core::Now now);
    void act_on(const core::Warning& action, core::Now now);
    void act_on(const core::Finished& action, core::Now now);

    Receivers to_;
    Router& router_;
    const std::string how_to_keep_hosts_;
    const std::function<Instant()>& clock_;
    std::optional<core::Finished> finished_;
};

}  // namespace wq::manager

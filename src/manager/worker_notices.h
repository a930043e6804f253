// Tells each part of the manager that keeps data about workers when they join, disconnect and leave.
#pragma once

#include <string>

#include "manager/environment_lines.h"
#include "manager/lease_sender.h"
#include "manager/run_records.h"
#include "manager/ticket_server.h"
#include "manager/worker_release.h"
#include "manager/worker_sessions.h"

namespace wq::manager {

class WorkerNotices final : public WorkerEvents {
  public:
    struct Receivers {
        EnvironmentLines& environment;
        LeaseSender& leases;
        TicketServer& tickets;
        RunRecords& records;
        WorkerRelease& release;
    };
    explicit WorkerNotices(Receivers receivers) : to_(receivers) {}

    void joined(const Link& link, const net::messages::Hello& hello) override;
    void welcomed(Link& link) override { to_.environment.tell(link); }
    void disconnected(WorkerId worker) override;
    void unlinked(const Link& link) override;
    void departed(const records::journal::WorkerRecord& worker, const std::string& why,
                  records::journal::Departure departure, engine::model::Now now) override;

  private:
    Receivers to_;
};

}  // namespace wq::manager

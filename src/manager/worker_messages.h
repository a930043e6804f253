// What workers say: from frames to events of the core, and to the parts of the manager that they concern.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "manager/environment_lines.h"
#include "manager/failures.h"
#include "manager/lease_sender.h"
#include "manager/links.h"
#include "manager/router.h"
#include "manager/ticket_server.h"
#include "manager/worker_release.h"
#include "manager/worker_sessions.h"
#include "transfers/lease_key.h"

namespace wq::manager {

class WorkerMessages {
  public:
    struct Receivers {
        Links& links;
        WorkerSessions& sessions;
        LeaseSender& leases;
        TicketServer& tickets;
        const EnvironmentLines& environment;
        WorkerRelease& release;
        Failures& failures;
        bool files_may_be_shared = false;  // workers are told how to find out whether they see ours
    };
    WorkerMessages(Receivers receivers, Router& router) : to_(receivers), router_(router) {}

    // What a frame brought: only a sign of life, something, or ends of tasks.
    enum class Heard { beat, status, results };
    Heard on_frame(Link& link, const std::string& bytes, core::Now now);

    // What the attempt that has just been reported wrote; null: not this attempt's.
    core::Output* output_of(TaskId task, Attempt attempt);
    // Whether a call of a function has ended with a result since this was asked last.
    bool take_call_ended() { return std::exchange(call_ended_, false); }
    std::int64_t bytes_received() const { return bytes_received_; }  // of output
    std::int64_t idled_out() const { return idled_out_; }            // workers, so far

  private:
    void on(Link& link, wire::Hello& message, core::Now now);
    void on(Link& link, const wire::Goodbye& message, core::Now now);
    void on(Link& link, const wire::Draining& message, core::Now now);
    void on(Link& link, const wire::EnvironmentReport& message, core::Now now);
    void on(Link& link, const wire::Beat& message, core::Now now);
    // Of tasks.
    void on(Link& link, wire::Ended& message, core::Now now);
    void on(Link& link, const wire::RangeEnded& message, core::Now now);
    void on(Link& link, const wire::GivenBack& message, core::Now now);
    // Of tickets.
    void on(Link& link, const wire::Account& message, core::Now now);
    void on(Link& link, const wire::WantTickets& message, core::Now now);
    void on(Link& link, const wire::WantTexts& message, core::Now now);
    // Of files.
    void on(Link& link, const wire::SharesFiles& message, core::Now now);
    void on(Link& link, const wire::WantInput& message, core::Now now);
    void on(Link& link, const wire::HaveInput& message, core::Now now);
    void on(Link& link, wire::OutputPart& message, core::Now now);
    void on(Link& link, wire::WatchedPart& message, core::Now now);
    void on(Link& link, const wire::OutputsSent& message, core::Now now);
    // What only a manager says.
    template <class Other>
    void on(Link& link, const Other&, core::Now now) {
        if (link.stranger) to_.sessions.refuse(link, "it sent a message that only managers send", now);
    }
    transfers::FileTransfers* transfers_of(Link& link, core::Now now);

    Receivers to_;
    Router& router_;
    core::Output* output_ = nullptr;  // of the attempt whose end is being handled
    transfers::LeaseKey output_of_;
    bool call_ended_ = false;
    std::int64_t bytes_received_ = 0;
    std::int64_t idled_out_ = 0;
};

}  // namespace wq::manager

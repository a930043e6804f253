// Handles messages of workers: turns frames into events of the core, and calls the parts they concern.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "files/transfers/transfer_tally.h"
#include "manager/lease_sender.h"
#include "manager/links.h"
#include "manager/router.h"
#include "manager/run_records.h"
#include "manager/status_answers.h"
#include "manager/ticket_server.h"
#include "manager/worker_sessions.h"

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
        RunRecords& records;
        StatusAnswers& answers;
        bool files_may_be_shared = false;  // tell workers how to find out whether they see our files
    };
    WorkerMessages(Receivers receivers, Router& router) : to_(receivers), router_(router) {}
    void note_rate(WallMicros started, double rate) { started_us_ = started, rate_ = rate; }

    // Content of a frame: only a keepalive, anything else, or ends of tasks.
    enum class Heard { beat, status, results };
    // Handles at most `share` messages from byte `at` on; moves `at`, and lessens `share`. The link may be
    // gone afterwards.
    Heard on_frame(Link& link, const std::string& bytes, std::size_t& at, std::size_t& share,
                   engine::model::Now now);

    // The output of the attempt being reported; null: another attempt.
    AttemptOutput* output_of(TaskId task, Attempt attempt);
    // Returns whether a call of a function has ended with a result since the last check.
    bool take_call_ended() { return std::exchange(call_ended_, false); }
    std::int64_t bytes_received() const { return bytes_received_; }  // of output
    std::int64_t idled_out() const { return idled_out_; }            // workers, so far

  private:
    void on(Link& link, net::messages::Hello& message, engine::model::Now now);
    void on(Link& link, const net::messages::Goodbye& message, engine::model::Now now);
    void on(Link& link, const net::messages::Draining& message, engine::model::Now now);
    void on(Link& link, const net::messages::EnvironmentReport& message, engine::model::Now now);
    void on(Link& link, const net::messages::Beat& message, engine::model::Now now);
    void on(Link& link, const net::messages::StatusQuery& message, engine::model::Now now);
    const net::messages::StatusReport& status(engine::model::Now now);
    void on(Link& link, const net::messages::Keeps& message, engine::model::Now now);
    void on(Link& link, const net::messages::LastWords& message, engine::model::Now now) {
        to_.sessions.handle_last_words(link, message, now);
    }
    // Tasks.
    void on(Link& link, net::messages::Ended& message, engine::model::Now now);
    void on(Link& link, const net::messages::RangeEnded& message, engine::model::Now now);
    void on(Link& link, const net::messages::GivenBack& message, engine::model::Now now);
    // Tickets.
    void on(Link& link, const net::messages::Account& message, engine::model::Now now);
    void on(Link& link, const net::messages::WantTickets& message, engine::model::Now now);
    void on(Link& link, const net::messages::WantTexts& message, engine::model::Now now);
    // Files.
    void on(Link& link, const net::messages::SharesFiles& message, engine::model::Now now);
    void on(Link& link, const net::messages::SharesMemory& message, engine::model::Now now);
    void on(Link& link, const net::messages::WantInput& message, engine::model::Now now);
    void on(Link& link, const net::messages::HaveInput& message, engine::model::Now now);
    void on(Link& link, net::messages::OutputPart& message, engine::model::Now now);
    void on(Link& link, net::messages::WatchedPart& message, engine::model::Now now);
    void on(Link& link, const net::messages::OutputsSent& message, engine::model::Now now);
    // Messages that only a manager sends.
    template <class Other>
    void on(Link& link, const Other&, engine::model::Now now) {
        if (link.untrusted) to_.sessions.refuse(link, "it sent a message that only managers send", now);
    }
    files::transfers::FileTransfers* transfers_of(Link& link, engine::model::Now now);

    Receivers to_;
    Router& router_;
    AttemptOutput* output_ = nullptr;  // of the attempt whose end is being handled
    files::transfers::LeaseKey output_of_;
    bool call_ended_ = false;
    std::optional<net::messages::StatusReport> status_;  // the last one told
    Instant status_at_;
    WallMicros started_us_ = 0;  // 0: not known, as the rate
    double rate_ = -1;
    std::int64_t bytes_received_ = 0;
    std::int64_t idled_out_ = 0;
};

}  // namespace wq::manager

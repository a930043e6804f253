// Workers as they join, disconnect, reconnect and leave. A rank is its connection: lost with it. A worker
// over TCP has a session, which outlives connections for as long as the core waits for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manager/links.h"
#include "manager/router.h"
#include "records/records.h"
#include "session/session_table.h"
#include "wire/messages.h"

namespace wq::manager {

// Who hears of workers, to begin, keep or drop what else is known of them.
class WorkerEvents {
  public:
    virtual void joined(const Link& link, const wire::Hello& hello) = 0;
    virtual void welcomed(Link& link) = 0;  // joined or reconnected
    virtual void disconnected(WorkerId worker) = 0;
    virtual void unlinked(const Link& link) = 0;  // for good
    virtual void departed(const records::WorkerRecord& worker, const std::string& why,
                          records::Departure departure, core::Now now) = 0;

  protected:
    ~WorkerEvents() = default;
};

struct SessionOptions {
    Duration disconnect_limit{0};  // how long a worker may take to reconnect; 0: it is lost at once
    Duration hello_limit = std::chrono::seconds(30);
    wire::Welcome of_rank;               // what a rank is told
    wire::Welcome of_stranger;           // and a worker over TCP, besides what is its session's
    bool ranks_share_files = false;      // they see ours: none are sent
    bool strangers_end_with_us = false;  // else they look for another manager
};

class WorkerSessions {
  public:
    WorkerSessions(SessionOptions options, Links& links, Router& router, WorkerEvents& events);

    // Workers over TCP are numbered after the ranks.
    void keep_numbers(std::uint32_t ranks);
    void hello(Link& link, wire::Hello& message, core::Now now);
    // A worker that has not been welcomed may only say hello. Returns whether this one said more.
    bool out_of_turn(Link& link, core::Now now);
    void count_answer(Link& link);
    void acknowledge_answers();

    // Its link is gone. A worker over TCP may reconnect.
    void on_disconnect(LinkKey key, const std::string& why, core::Now now);
    // The worker leaves, or is lost: nothing of it counts any more.
    void drop(LinkKey key, const std::string& why, records::Departure departure, core::Now now);
    // Tells the worker why, and gives it up, unless it is disconnected (false).
    bool dismiss(WorkerId worker, const wire::Dismiss& last, const std::string& why,
                 records::Departure departure, core::Now now);
    // Gives up a disconnected worker.
    void end(WorkerId worker, const std::string& why, records::Departure departure, core::Now now);
    // The peer learns why. A worker that violates the protocol gets no second chance in this session.
    void refuse(Link& link, const std::string& why, core::Now now);
    void dismiss_silent(core::Now now);                       // strangers that did not say hello in time
    void dismiss_all(const std::string& why, core::Now now);  // at the end: nothing may follow

    bool lost_a_rank() const { return lost_a_rank_; }

  private:
    void welcome_rank(Link& link, const wire::Hello& message, core::Now now);
    void welcome_stranger(Link& link, wire::Hello& message, core::Now now);
    void reconnect(Link& link, wire::Hello& message, core::Now now);
    void forget_unconfirmed(const session::Session& old, core::Now now);
    wire::Welcome welcome(const session::Session& session) const;
    void close(Link& link, const wire::Message& last, const std::string& why, core::Now now);
    void note_departures_at_the_end(const std::string& why, core::Now now);

    SessionOptions options_;
    Links& links_;
    Router& router_;
    WorkerEvents& events_;
    session::SessionTable sessions_;
    std::vector<WorkerId> unacknowledged_;  // with answers of this turn
    bool lost_a_rank_ = false;
};

}  // namespace wq::manager

// Tracks workers as they join, disconnect, reconnect and leave. A rank is lost with its connection. A TCP
// worker has a session, which lasts over several connections while the core waits for the worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_file.h"
#include "manager/links.h"
#include "manager/router.h"
#include "net/messages/messages.h"
#include "net/session/session_table.h"
#include "records/journal/records.h"

namespace wq::manager {

// Parts that start, keep or drop data about workers.
class WorkerEvents {
  public:
    virtual void joined(const Link& link, const net::messages::Hello& hello) = 0;
    virtual void welcomed(Link& link) = 0;  // joined or reconnected
    virtual void disconnected(WorkerId worker) = 0;
    virtual void unlinked(const Link& link) = 0;  // for good
    virtual void departed(const records::journal::WorkerRecord& worker, const std::string& why,
                          records::journal::Departure departure, engine::model::Now now) = 0;

  protected:
    ~WorkerEvents() = default;
};

struct SessionOptions {
    Duration disconnect_limit{0};  // as ManagerOptions
    Duration hello_limit = std::chrono::seconds(30);
    net::messages::Welcome of_rank;        // sent to a rank
    net::messages::Welcome of_tcp_worker;  // sent to a TCP worker, with its session's data
    bool ranks_share_files = false;        // ranks see our files, so none are sent
    bool lends_memory = false;             // workers find out whether they can map memories of this process
    bool tcp_workers_end_with_us = false;  // false: they look for another manager
};

class WorkerSessions {
  public:
    WorkerSessions(SessionOptions options, Links& links, Router& router, WorkerEvents& events);

    // Numbers of TCP workers start after the ranks.
    void keep_numbers(std::uint32_t ranks);
    void hello(Link& link, net::messages::Hello& message, engine::model::Now now);
    // Before its welcome, a worker may send only a hello. If it sent anything else, refuses it and returns
    // true.
    bool out_of_turn(Link& link, engine::model::Now now);
    // Whether a program that is no worker may be answered; if not, refuses it.
    bool may_ask(Link& link, const net::messages::StatusQuery& query, engine::model::Now now);
    // What outlives a worker's process says whether that worker's tasks have ended.
    void handle_last_words(Link& link, const net::messages::LastWords& words, engine::model::Now now);
    // Null: a rank.
    const records::journal::WorkerRecord* of_tcp(WorkerId worker) const;
    void count_answer(Link& link);
    void acknowledge_answers();
    void set_disconnect_limit(Duration limit) { options_.disconnect_limit = limit; }  // of later workers

    // Its link is lost. A TCP worker may reconnect.
    void on_disconnect(LinkKey key, const net::frames::Left& left, engine::model::Now now);
    // The worker leaves or is lost: ignores everything further from it.
    void drop(LinkKey key, const std::string& why, records::journal::Departure departure,
              engine::model::Now now);
    // Tells the worker why and drops it, unless it is disconnected (false).
    bool dismiss(WorkerId worker, const net::messages::Dismiss& last, const std::string& why,
                 records::journal::Departure departure, engine::model::Now now);
    // Drops a disconnected worker.
    void end(WorkerId worker, const std::string& why, records::journal::Departure departure,
             engine::model::Now now);
    // Tells the peer why. A worker that violates the protocol cannot reconnect to its session.
    void refuse(Link& link, const std::string& why, engine::model::Now now);
    void dismiss_silent(engine::model::Now now);  // untrusted links that missed their hello limit
    void dismiss_all(const std::string& why, engine::model::Now now);  // at the end: nothing may follow

    bool lost_a_rank() const { return lost_a_rank_; }

  private:
    void make_memory_mark();
    void welcome_rank(Link& link, const net::messages::Hello& message, engine::model::Now now);
    void welcome_tcp_worker(Link& link, net::messages::Hello& message, engine::model::Now now);
    void begin_link(Link& link, const net::messages::Hello& message, engine::model::Now now);
    void reconnect(Link& link, net::messages::Hello& message, engine::model::Now now);
    void end_session(const net::session::Session& session, const std::string& why,
                     records::journal::Departure departure, engine::model::Now now);
    net::messages::Welcome welcome(const net::session::Session& session) const;
    void refuse_version(Link& link, std::uint32_t theirs, engine::model::Now now);
    void close(Link& link, const net::messages::Message& last, const std::string& why,
               engine::model::Now now);
    void note_departures_at_the_end(const std::string& why, engine::model::Now now);

    SessionOptions options_;
    Links& links_;
    Router& router_;
    WorkerEvents& events_;
    net::session::SessionTable sessions_;
    std::optional<MemoryFile> memory_mark_;
    std::vector<WorkerId> unacknowledged_;  // with reports of this turn
    bool lost_a_rank_ = false;
};

// Workers that the program wants to leave: each gets no more tasks, and is dismissed once it is empty.
class WorkerRelease {
  public:
    WorkerRelease(WorkerSessions& sessions, const Links& links, Router& router)
        : sessions_(sessions), links_(links), router_(router) {}

    // Makes the workers of a host leave; `on` false: they stay. Returns how many there are.
    std::size_t drain(const std::string& host, bool on, engine::model::Now now);
    // Asks this many workers to leave, emptiest first; 0: all. Returns how many were asked.
    std::size_t shut_down(std::size_t workers, engine::model::Now now);
    // Asks workers to leave that are more than their factory may have; other factories have no limit.
    void keep_at_most(const std::map<std::string, std::size_t>& of_factory, engine::model::Now now);

    // The worker leaves by itself.
    void leaves(WorkerId worker) { leaving_.insert(worker); }
    void departed(WorkerId worker) { leaving_.erase(worker); }
    void tick(engine::model::Now now);
    std::int64_t released() const { return released_; }  // workers, so far

  private:
    // How much a worker does, and the worker; sorted, the emptiest are first.
    using Load = std::pair<std::size_t, WorkerId>;
    Load load_of(const engine::model::Worker& worker) const;
    void release(WorkerId worker, engine::model::Now now);
    void dismiss_the_empty(engine::model::Now now);

    WorkerSessions& sessions_;
    const Links& links_;
    Router& router_;
    std::set<WorkerId> releasing_;  // get no more tasks, and leave once empty
    std::set<WorkerId> leaving_;    // leave by themselves
    std::int64_t released_ = 0;
};

}  // namespace wq::manager

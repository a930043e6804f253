// Answers programs that ask for a listing, such as work_queue_status. It builds parts for 2 ms in each turn
// of the loop, so many askers do not stop the run.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manager/links.h"
#include "manager/router.h"
#include "manager/worker_sessions.h"
#include "net/messages/messages.h"

namespace wq::manager {

// Who knows the manager's queue.
class StatusLister {
  public:
    virtual ~StatusLister() = default;
    // About net::messages::status_part_bytes of it, from where the last part ended.
    virtual net::messages::StatusPart part(net::messages::StatusOf what, std::uint64_t from) = 0;
    // By its name in CCTools, such as "task_status".
    virtual std::optional<net::messages::StatusOf> named(std::string_view listing) const = 0;
};

class StatusAnswers {
  public:
    StatusAnswers(Links& links, const std::function<Instant()>& clock) : links_(links), clock_(clock) {}

    // Null: to nobody.
    void list_by(StatusLister* lister) { lister_ = lister; }
    bool lists() const { return lister_ != nullptr; }
    // The link gets this part in one of the next turns.
    void ask(Link& link, const net::messages::StatusQuery& query);
    // The same in plain text. `question`: as net::frames::Joined::asks_plainly.
    void ask_plainly(Link& link, std::string_view question);
    void tick();
    bool waits() const { return !asked_.empty(); }

  private:
    void answer(Link& link, const net::messages::StatusQuery& query);
    void answer_plainly(Link& link, const net::messages::StatusPart& part);
    void end_plainly(Link& link, std::string last);

    Links& links_;
    const std::function<Instant()>& clock_;
    StatusLister* lister_ = nullptr;
    std::deque<std::pair<LinkKey, net::messages::StatusQuery>> asked_;
};

// What a manager tells a program that asks for its status: unfinished tasks by shape, and workers.

// `categories`: names by CategoryId. Visits all shapes, workers and leases.
net::messages::StatusReport status_report(const Router& router, const std::vector<std::string>& categories,
                                          const WorkerSessions& sessions);

}  // namespace wq::manager

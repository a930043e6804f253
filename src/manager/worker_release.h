// Workers that the program wants to leave: they get no more tasks, and are dismissed once they are empty.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "manager/router.h"
#include "manager/worker_sessions.h"

namespace wq::manager {

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

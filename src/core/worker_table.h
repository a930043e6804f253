// The workers of the run as the core sees them: what each offers, what is leased to it, when it was last heard.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/ids.h"
#include "base/time.h"
#include "core/events.h"

namespace wq::core {

struct Worker {
    WorkerId id;
    std::string host;
    Resources whole;
    Resources used;                        // by leases; beyond `whole` by those that wait in its launcher
    std::optional<Instant> leaves_at;
    bool takes_tickets = false;
    bool recalling = false;                // asked to give leases back and not yet answered
    std::unordered_set<TaskId> leases;
    std::optional<TaskId> suspect;         // the one suspect that it runs
    Instant last_heard;
};

class WorkerTable {
  public:
    Worker& add(const WorkerJoined& joined, Instant now);
    void remove(WorkerId id);
    Worker* find(WorkerId id);
    const Worker* find(WorkerId id) const;
    std::size_t size() const { return workers_.size(); }
    bool empty() const { return workers_.empty(); }

    void heard(Worker& worker, Instant now);
    // The worker that has been silent longest.
    const Worker* quietest() const;

    void lease(Worker& worker, TaskId task, const Resources& give);
    void release(Worker& worker, TaskId task, const Resources& given);

    // Workers by free cores, most first: {-free, id}. Free is negative where leases wait in the worker's launcher.
    const std::set<std::pair<std::int64_t, WorkerId>>& by_free_cores() const { return by_free_; }
    const std::unordered_map<WorkerId, Worker>& all() const { return workers_; }
    std::uint64_t busy() const { return busy_; }
    Resources total() const { return total_; }
    Resources committed() const { return committed_; }

  private:
    std::unordered_map<WorkerId, Worker> workers_;
    std::set<std::pair<std::int64_t, WorkerId>> by_free_;
    std::set<std::pair<Instant, WorkerId>> by_heard_;
    std::uint64_t busy_ = 0;
    Resources total_;
    Resources committed_;
};

}  // namespace wq::core

// The workers of the run as the core sees them: what each offers, what is leased to it, when it was last
// heard.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/events.h"

namespace wq::core {

// Workers that can hold the same tasks: equal resources, and an end within the same minute. A pool has few
// kinds.
struct WorkerKind {
    Resources whole;
    std::int64_t leaves_minute = 0;
    auto operator<=>(const WorkerKind&) const = default;
};

struct Worker {
    WorkerId id;
    std::string host;
    Resources whole;
    Resources used;  // by leases; beyond `whole` by those that wait in its launcher
    std::optional<Instant> leaves_at;
    bool takes_tickets = false;
    bool recalling = false;    // asked to give leases back; no word from it since
    bool has_changed = false;  // stands in the list of take_changed()
    std::unordered_set<TaskId> leases;
    std::optional<TaskId> suspect;  // the one suspect that it runs
    bool alone = false;             // that one is to run by itself
    Instant last_heard;

    WorkerKind kind() const;
    Resources free() const;  // negative where leases wait in its launcher
};

class WorkerTable {
  public:
    // Workers of one kind by free cores, most first: {-free, id}.
    using ByFree = std::set<std::pair<std::int64_t, WorkerId>>;

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

    // It may have room that it did not have when it was last looked at.
    void changed(Worker& worker);
    std::vector<WorkerId> take_changed();

    const std::map<WorkerKind, ByFree>& kinds() const { return kinds_; }
    const std::unordered_map<WorkerId, Worker>& all() const { return workers_; }
    std::uint64_t busy() const { return busy_; }
    Resources total() const { return total_; }
    Resources committed() const { return committed_; }

    // Recomputes every index and sum from scratch; the text of the first contradiction.
    std::optional<std::string> audit() const;

  private:
    void move(Worker& worker, const Resources& used);

    std::unordered_map<WorkerId, Worker> workers_;
    std::map<WorkerKind, ByFree> kinds_;
    std::set<std::pair<Instant, WorkerId>> by_heard_;
    std::vector<WorkerId> changed_;
    std::uint64_t busy_ = 0;
    Resources total_;
    Resources committed_;
};

}  // namespace wq::core

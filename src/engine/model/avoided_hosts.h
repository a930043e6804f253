// Ready tasks that avoid a host for a while because they were too slow there, or only their worker if no
// other host could run them. The tasks behind them in their shape do not wait for them, so the next task of a
// shape depends on the worker that asks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/interval_set.h"
#include "base/time.h"
#include "engine/model/ledger.h"
#include "engine/model/worker_table.h"

namespace wq::engine::model {

class AvoidedHosts {
  public:
    struct Avoided {
        WorkerId worker;
        std::string host;
        bool whole_host = false;  // another host could run it
        Instant until;
        ShapeId shape;
    };

    AvoidedHosts(Ledger& ledger, const WorkerTable& workers) : ledger_(ledger), workers_(workers) {}

    void put(TaskId task, const Worker& worker, bool whole_host, Instant until);
    void remove(TaskId task) {
        if (!avoided_.empty()) remove_known(task);
    }
    void remove(Interval tasks);

    bool empty() const { return avoided_.empty(); }
    const Avoided* find(TaskId task) const;
    std::optional<Instant> next_end() const;
    std::optional<TaskId> over(Instant now) const;  // one whose time to avoid has ended

    // A task avoids no host while only that host gets tasks, and no worker that is the last one of its host.
    bool avoids(TaskId task, const Worker& worker) const {
        return !avoided_.empty() && avoids_now(task, worker);
    }
    // The highest-priority ready task of the shape that does not avoid the worker.
    std::optional<ReadyHead> next_for(ShapeId shape, const Worker& worker) const;
    std::optional<TaskId> next_suspect_for(ShapeId shape, const Worker& worker) const;
    bool has_one_for(ShapeId shape, bool suspect, const Worker& worker) const;

    std::optional<std::string> audit() const;

  private:
    void remove_known(TaskId task);
    bool avoids_now(TaskId task, const Worker& worker) const;
    std::optional<TaskId> first_for(const IntervalSet& tasks, const Worker& worker) const;

    Ledger& ledger_;
    const WorkerTable& workers_;
    std::map<TaskId, Avoided> avoided_;
    std::map<ShapeId, std::uint32_t> avoiding_;  // how many tasks of each shape
    std::set<std::pair<Instant, TaskId>> ends_;
};

}  // namespace wq::engine::model

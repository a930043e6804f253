// The state shared by all policies: the tables of tasks and workers, the current event, and the few facts
// that several policies need. A fact that only one policy needs is a member of that policy.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/listening_clock.h"
#include "engine/attempts/reactor_options.h"
#include "engine/model/batches.h"
#include "engine/model/copy_table.h"
#include "engine/model/events.h"
#include "engine/model/groups.h"
#include "engine/model/ledger.h"
#include "engine/model/manager_stats.h"
#include "engine/model/run_times.h"
#include "engine/model/shunned_hosts.h"
#include "engine/model/task_category.h"
#include "engine/model/worker_table.h"

namespace wq::engine::attempts {

using namespace engine::model;  // its values and tables are what this folder is about

// One value per shape, created on first access.
template <class T>
class PerShape {
  public:
    T& operator[](ShapeId shape) {
        if (shape.value() >= values_.size()) values_.resize(shape.value() + 1);
        return values_[shape.value()];
    }
    // Null if it was never accessed.
    const T* find(ShapeId shape) const {
        return shape.value() < values_.size() ? &values_[shape.value()] : nullptr;
    }

  private:
    std::vector<T> values_;
};

struct CategoryState {
    Category category{""};
    std::vector<ShapeId> shapes;
};

// A worker that is kept free for a task that has waited too long.
struct Reservation {
    WorkerId worker;
    ShapeId shape;
    Among among = Among::others;
};

struct State {
    State(const ReactorOptions& said, Now started);
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // ---- answers ----

    template <class A>
    void act(A&& action) {
        actions->emplace_back(std::forward<A>(action));
    }
    // Tells a worker to kill those of the tasks that it holds. A disconnected worker is told after it
    // reconnects and names them.
    void kill(WorkerId worker, Interval tasks, Attempt attempt);
    void kill(WorkerId worker, TaskId task, Attempt attempt) {
        kill(worker, {task.value(), task.value() + 1}, attempt);
    }
    // Makes the unclaimed tickets of the open batch ready again.
    void revoke_batch();

    // ---- tasks ----

    const Shape& shape_of(TaskId task) const { return ledger.shape(ledger.shape_of(task)); }
    const Ask& asked(ShapeId shape) const { return asks[shape.value()]; }
    CategoryState& category(CategoryId category);
    // Makes the category's ready tasks look for workers, although nothing else has changed for them.
    void awaken(const CategoryState& category);
    // Adds to the run's counters and to those of the task's category.
    template <class F>
    void count_for(TaskId task, F&& add) {
        count_for(shape_of(task).category, add);
    }
    template <class F>
    void count_for(CategoryId category, F&& add) {
        add(counters);
        if (category.value() >= category_counters.size()) category_counters.resize(category.value() + 1);
        add(category_counters[category.value()]);
    }

    // ---- workers ----

    // A member of an open batch stays a member, because it may have claimed some tickets.
    void start_dispatching_to(const Worker& worker);
    void stop_dispatching_to(const Worker& worker);
    // Whether it may claim tickets of the open batch.
    bool may_claim(const Worker& worker) const {
        return batch && batch->members.contains(worker.id) && !batch->dry.contains(worker.id);
    }
    std::size_t connected_workers() const { return workers.size() - workers.disconnected_count(); }

    // The first contradiction among its tables, recomputed from scratch.
    std::optional<std::string> audit() const;

    ReactorOptions options;
    Now now;                                 // of the current event, or the last one
    std::vector<Action>* actions = nullptr;  // the response to that event
    ListeningClock listening;                // measures silence and time disconnected

    Ledger ledger;
    Groups groups;
    WorkerTable workers;
    HostBlocks blocks;
    AvoidedHosts avoided{ledger, workers};
    CopyTable copies;

    std::vector<Ask> asks;                  // by ShapeId: what tasks ask for (own or category's request)
    std::vector<CategoryState> categories;  // by CategoryId
    std::vector<CategoryId> limited;        // that limit how many of their tasks run at once
    PerShape<model::MeanWallTime> mean_wall;
    std::vector<ShapeId> awakened;  // shapes whose ready tasks may have become runnable

    std::set<WorkerId> ticket_ranks;      // workers that take tickets and get tasks
    std::optional<Batch> batch;           // one at a time
    IntervalSet doubtful;                 // a lost rank may have claimed them: not sealed again
    std::optional<Reservation> reserved;  // one at a time

    Instant settled_at;                    // from then on, no more workers are expected
    Instant ranks_settled_at;              // nor more ranks that take tickets
    std::uint64_t pool_version = 1;        // counts changes of who gets tasks
    std::uint32_t hold_until_workers = 0;  // 0: no need to wait any more
    bool stopping = false;
    bool storage_trouble = false;
    bool input_ended = false;

    std::uint64_t joined = 0;
    std::uint64_t lost = 0;
    std::uint64_t stale = 0;
    std::uint64_t looks = 0;                      // how many workers were looked at for tasks
    ManagerStats counters;                        // the cumulative ones
    std::vector<ManagerStats> category_counters;  // by CategoryId
};

}  // namespace wq::engine::attempts

// Makes the manager's decisions: events go in, actions come out. It is deterministic and uses no clock,
// connection or file. An event's cost does not depend on the size of the run: only leaving workers and stops
// visit all tasks or all workers.
//
// The reactor itself decides nothing. It owns the policies (policies.h) and their shared state, and routes
// events to them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/attempts/reactor_options.h"
#include "engine/model/events.h"
#include "engine/model/ledger.h"
#include "engine/model/manager_stats.h"
#include "engine/model/shunned_hosts.h"
#include "engine/model/task_category.h"
#include "engine/model/waiting.h"
#include "engine/model/worker_table.h"

namespace wq::engine::policies {

using attempts::ReactorOptions;
struct ShapeCount;

class Reactor {
  public:
    Reactor(const ReactorOptions& options, model::Now started);
    ~Reactor();
    Reactor(Reactor&&) noexcept;
    Reactor& operator=(Reactor&&) noexcept;

    void on(const model::Event& event, model::Now now, std::vector<model::Action>& actions);

    // When a Tick is due; nullopt if none is due before the next event.
    std::optional<Instant> wakeup() const;

    bool finished() const;
    bool stopping() const;
    const model::Ledger& ledger() const;
    const model::WorkerTable& workers() const;
    const model::HostBlocks& blocked_hosts() const;
    std::uint64_t stale_reports() const;
    // How many workers were looked at to find one for a task: the cost of dispatching.
    std::uint64_t looks() const;

    // Whether tasks of the category are killed if they take too long.
    bool fast_abort(CategoryId category) const;
    // Whether the worker holds this attempt: what others say of it counts for nothing.
    bool holds(WorkerId worker, TaskId task, Attempt attempt) const;
    // Whether the worker may run something: leases, or tickets that it has not accounted for yet.
    bool may_run(const model::Worker& worker) const;
    // Whether the task was too slow on the worker's host, and waits for another host.
    bool avoids(TaskId task, const model::Worker& worker) const;

    // What is known of a category (null if neither it nor its tasks were mentioned), and how many connected
    // workers can hold the largest of its tasks.
    const model::Category* category(CategoryId category) const;
    std::int64_t able_workers(CategoryId category) const;

    // The counters of the manual's table that scheduling knows. The manager adds its own times.
    model::ManagerStats stats() const;
    // The same for the tasks of one category. Figures of workers and the manager are those of the whole run.
    model::ManagerStats stats(CategoryId category) const;

    // How many unfinished tasks of each shape there are (view.h), and what they request with their category.
    std::vector<ShapeCount> unfinished() const;
    const model::Ask& asked(model::ShapeId shape) const;
    const model::AllocationRules& allocation() const;

    // What the run waits for, in one line for the user.
    std::string waiting_for() const;

    // How many tasks wait, by shape and reason: of at most 1000 shapes; the tasks of further ones are one
    // entry without a shape. Nothing waits: `program`, unless the input has ended. The cost does not depend
    // on the number of tasks.
    std::vector<model::WaitingTasks> waiting() const;

    // Why a task does not run, or on which worker it runs, in one line: "not now: ..." if it waits for time
    // or other tasks, "not now: no worker can hold it: ..." if none is large enough, "never:
    // ...". `earlier`: its attempts in earlier runs.
    std::string why(TaskId task, model::Now now, Attempt earlier = 0) const;

    // The first contradiction among all indexes, recomputed from scratch. For tests.
    std::optional<std::string> audit() const;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace wq::engine::policies

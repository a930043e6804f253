// The manager's decisions: events in, actions out. Deterministic, without clock, connection or file. Costs
// are per event: only departures and stops visit all tasks or all workers.
//
// The reactor decides nothing itself. It owns the policies (policies.h) and what they share, and routes
// events to them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/category.h"
#include "core/events.h"
#include "core/host_blocks.h"
#include "core/ledger.h"
#include "core/manager_stats.h"
#include "core/worker_table.h"
#include "scheduling/reactor_options.h"

namespace wq::scheduling {

class Reactor {
  public:
    Reactor(const ReactorOptions& options, core::Now started);
    ~Reactor();
    Reactor(Reactor&&) noexcept;
    Reactor& operator=(Reactor&&) noexcept;

    void on(const core::Event& event, core::Now now, std::vector<core::Action>& actions);

    // When a Tick is due; nothing: not before another event.
    std::optional<Instant> wakeup() const;

    bool finished() const;
    bool stopping() const;
    const core::Ledger& ledger() const;
    const core::WorkerTable& workers() const;
    const core::HostBlocks& blocked_hosts() const;
    std::uint64_t stale_reports() const;
    // Looks at workers, to find one for a task: the cost of dispatching.
    std::uint64_t looks() const;

    // Whether tasks of the category are killed if they take too long.
    bool fast_abort(CategoryId category) const;
    // Whether the worker may run something: leases, or tickets of which it has yet to give account.
    bool may_run(const core::Worker& worker) const;
    // Whether the task was too slow on the worker's host, and waits for another one.
    bool avoids(TaskId task, const core::Worker& worker) const;

    // What is known of a category, and how many connected workers hold the largest of its tasks. Null:
    // nothing was said of it or of its tasks.
    const core::Category* category(CategoryId category) const;
    std::int64_t able_workers(CategoryId category) const;

    // Those counters of the manual's table that scheduling knows; the manager adds its own times.
    core::ManagerStats stats() const;
    // The same for the tasks of one category. Figures of workers and of the manager are those of the whole.
    core::ManagerStats stats(CategoryId category) const;

    // What the run waits for, in one line: for a user who wonders why nothing happens.
    std::string waiting_for() const;

    // Why a task does not run, or where it does, in one line: "not now: ..." if time or other tasks are in
    // the way, "not now: it needs a larger worker: ..." if no connected worker can hold it, "never: ...".
    std::string why(TaskId task, core::Now now) const;

    // The first contradiction among all indexes, recomputed from scratch. For tests.
    std::optional<std::string> audit() const;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace wq::scheduling

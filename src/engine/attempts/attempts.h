// Begins and ends attempts. A task's first lease is attempt 1; every later lease, for whatever reason, gets
// the next number. All policy decisions are executed here, so that ledger, workers, groups, counters and
// records always agree.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/attempts/fit.h"
#include "engine/attempts/open_event.h"
#include "engine/attempts/run_counters.h"
#include "engine/attempts/state.h"

namespace wq::engine::attempts {

// Notifications about tasks and workers. The code that changes the shared state calls these functions, so no
// policy needs to know another: engine/policies/policies.h passes each call on to all policies.
//
// These functions do nothing, which tests of a single policy use.

// A worker that has been removed.
struct RemovedWorker {
    WorkerId id;
    std::string host;
    Resources whole;
    std::string reason;
    Parting how;
};

// Workers have joined; or workers have left, or more tasks wait.
enum class PoolChange : std::uint8_t { more_workers, less_room };

class Hooks {
  public:
    virtual ~Hooks() = default;

    // ---- attempts ----

    // A worker got the task, or a copy replaced its first attempt.
    virtual void leased(TaskId /*task*/, Attempted& /*attempted*/) const {}
    // The worker no longer has the task.
    virtual void freed(TaskId /*task*/, Attempted& /*attempted*/) const {}
    // A worker reported how an attempt that it held since `began` ended.
    virtual void reported(const Worker& /*worker*/, TaskId /*task*/, const Outcome& /*outcome*/,
                          Instant /*began*/) const {}
    // A worker reported `tasks` successes of a shape at once, which took `all` in total and `each` on
    // average.
    virtual void range_succeeded(const Worker& /*worker*/, ShapeId /*shape*/, std::uint64_t /*tasks*/,
                                 Duration /*all*/, Duration /*each*/) const {}
    virtual void succeeded(TaskId /*task*/, const Outcome& /*outcome*/) const {}
    // The task exceeded its allocation. Returns true if a policy has handled it; a policy may also add to the
    // outcome.
    virtual bool exhausted(TaskId /*task*/, Outcome& /*outcome*/) const { return false; }
    // The task ended because Attempted::kill_ordered was set.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): policies move the outcome on
    virtual void killed_as_slow(TaskId /*task*/, Outcome /*outcome*/) const {}
    // The task failed finally.
    virtual void failed(TaskId /*task*/) const {}

    // ---- tasks and workers ----

    virtual void shapes_added() const {}
    // What tasks of some shapes ask for has changed.
    virtual void asks_changed() const {}
    // Ready tasks of the shape may run where they could not before.
    virtual void awakened(ShapeId /*shape*/) const {}
    virtual void pool_changed(PoolChange /*change*/) const {}
    virtual void worker_joined(const Worker& /*worker*/) const {}
    virtual void worker_gone(const RemovedWorker& /*worker*/) const {}
    // The worker has reconnected and still has the task.
    virtual void lease_kept(TaskId /*task*/) const {}
    // The worker has reconnected and holds these tickets.
    virtual void reconnected(Worker& /*worker*/, const IntervalSet& /*tickets*/) const {}
    virtual void host_unblocked() const {}
};

// What becomes of a copy that is no longer needed: its worker ends it, or does not have it any more.
enum class DroppedCopy : std::uint8_t { kill, forget };
// Whether a loss counts against the task.
enum class Blame : std::uint8_t { task, nobody };

// Why a task fails for good: by itself, or because it may not be tried again.
enum class FinalFailure : std::uint8_t { own, out_of_tries };

class Attempts {
  public:
    Attempts(State& state, OpenEvent& event, RunCounters& counters, const Fit& fit, const Hooks& hooks)
        : state_(state),
          event_(event),
          counters_(counters),
          ledger_(state.ledger),
          fit_(fit),
          hooks_(hooks) {}

    // ---- begin ----

    void lease(Worker& worker, TaskId task, ShapeId shape, Among among);
    // Turns a ticket that a rank holds into a lease, without a message to the rank.
    void adopt_ticket(Worker& worker, TaskId task);
    // Starts a speculative copy of a running task.
    void copy(TaskId task, Worker& worker);
    // Creates the record of a sealed task, on the first message about it.
    void claim_ticket(WorkerId worker, TaskId task, WallMicros started);

    // Whether the worker holds this attempt. If not, its reports about it are stale.
    bool holds(WorkerId worker, TaskId task, Attempt attempt) const;

    // ---- end, and perhaps begin again ----

    // Takes the task from its worker. The next call decides what happens to it.
    void free(TaskId task);
    // For a task that had not started, or that was killed by our order: no retry is counted.
    void requeue(TaskId task);
    void give_back(TaskId task);  // the same for a lease that had not started; also recorded
    // For a task that ended by no fault of its own: requeues it unless its tries are used up. `event` is
    // lose, exhaust or abort.
    void try_again(TaskId task, TaskEvent event, Outcome outcome);
    // For a task that failed by itself and has retries left.
    void retry(TaskId task, const Outcome& outcome);
    void lose(TaskId task, const std::string& why, Blame blame);
    void kill(TaskId task, const Outcome& outcome);  // ended by our order, not by a fault of the task
    void succeed(TaskId task, const Outcome& outcome);
    void fail(TaskId task, Outcome outcome, FinalFailure why = FinalFailure::own);
    // For a ready task whose end time has passed.
    void expire(TaskId task);
    // For a task that is on a worker, or has a record of earlier attempts.
    void cancel(TaskId task);
    // For ready tasks of a shape that can never run.
    void skip_ready(ShapeId shape, const std::function<Skipped(IntervalSet)>& why);
    // Executes what the end of some tasks changes for others.
    void apply(const GroupChange& change);

    // Ends the copy, if there is one. With DroppedCopy::kill, tells its worker.
    void drop_copy(TaskId task, DroppedCopy order);
    // Makes the copy the task's attempt in the ledger, because the copy succeeded or the first attempt
    // failed.
    void promote_copy(TaskId task);

    // ---- facts ----

    // Whether its next loss is final. It then runs alone, so that it is clear which task killed the worker.
    bool last_chance(TaskId task) const;
    std::uint64_t last_chances() const { return last_chances_; }

    std::optional<std::string> audit() const;

  private:
    struct Tries {
        std::uint32_t spent = 0;  // that count towards the limit
        std::uint32_t most = 0;   // 0: no limit
        bool all_count = false;   // not only lost ones
    };
    Tries tries(TaskId task) const;
    // `again`: the event that makes it ready again; nullopt: it has ended for good.
    void record(TaskId task, std::optional<TaskEvent> again, Outcome outcome,
                FinalFailure why = FinalFailure::own);
    bool copy_goes_on(TaskId task, TaskEvent event) const;
    void go_on_with_copy(TaskId task);
    void forget_last_chance(TaskId task) {
        if (last_chance(task)) --last_chances_;
    }

    State& state_;
    OpenEvent& event_;
    RunCounters& counters_;
    Ledger& ledger_;
    const Fit& fit_;
    const Hooks& hooks_;
    std::uint64_t last_chances_ = 0;
};

}  // namespace wq::engine::attempts

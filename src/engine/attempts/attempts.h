// Begins and ends attempts. A task's first lease is attempt 1; every later lease, for whatever reason, gets
// the next number. All policy decisions are executed here, so that ledger, workers, groups, counters and
// records always agree.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/attempts/fit.h"
#include "engine/attempts/hooks.h"
#include "engine/attempts/state.h"

namespace wq::engine::attempts {

class Attempts {
  public:
    Attempts(State& state, const Fit& fit, const Hooks& hooks)
        : state_(state), ledger_(state.ledger), fit_(fit), hooks_(hooks) {}

    // ---- begin ----

    void lease(Worker& worker, TaskId task, ShapeId shape, bool suspect);
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
    void lose(TaskId task, const std::string& why, bool blame);
    void kill(TaskId task, const Outcome& outcome);  // ended by our order, not by a fault of the task
    void succeed(TaskId task, const Outcome& outcome);
    void fail(TaskId task, Outcome outcome, bool out_of_tries = false);
    // For a ready task whose end time has passed.
    void expire(TaskId task);
    // For a task that is on a worker, or has a record of earlier attempts.
    void cancel(TaskId task);
    // For ready tasks of a shape that can never run.
    void skip_ready(ShapeId shape, const std::function<Skipped(IntervalSet)>& why);
    // Executes what the end of some tasks changes for others.
    void apply(const GroupChange& change);

    // Ends the copy, if there is one. With `kill`, tells its worker.
    void drop_copy(TaskId task, bool kill);
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
    void record(TaskId task, std::optional<TaskEvent> again, Outcome outcome, bool out_of_tries = false);
    bool copy_goes_on(TaskId task, TaskEvent event) const;
    void go_on_with_copy(TaskId task);
    void forget_last_chance(TaskId task) {
        if (last_chance(task)) --last_chances_;
    }

    State& state_;
    Ledger& ledger_;
    const Fit& fit_;
    const Hooks& hooks_;
    std::uint64_t last_chances_ = 0;
};

}  // namespace wq::engine::attempts

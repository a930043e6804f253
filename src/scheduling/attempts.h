// How attempts begin and end. A task's first lease is attempt 1; every later lease, for whatever reason, has
// the next number. All decisions of policies are executed here, so that ledger, workers, groups, counters and
// records always agree.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "scheduling/fit.h"
#include "scheduling/hooks.h"
#include "scheduling/state.h"

namespace wq::scheduling {

class Attempts {
  public:
    Attempts(State& state, const Fit& fit, const Hooks& hooks)
        : state_(state), ledger_(state.ledger), fit_(fit), hooks_(hooks) {}

    // ---- begin ----

    void lease(Worker& worker, TaskId task, ShapeId shape, bool suspect);
    // A ticket that a rank holds becomes a lease, without a message to the rank.
    void adopt_ticket(Worker& worker, TaskId task);
    // A second attempt of a task that runs.
    void copy(TaskId task, Worker& worker);
    // A sealed task gets its record with the first message about it.
    void claim_ticket(WorkerId worker, TaskId task, WallMicros started);

    // Whether the worker holds this attempt: else what it says of it is stale.
    bool holds(WorkerId worker, TaskId task, Attempt attempt) const;

    // ---- end, and perhaps begin again ----

    // Takes the task from its worker; what becomes of it is the next call.
    void free(TaskId task);
    // It had not started, or was killed by our order: it is ready again, at no cost.
    void requeue(TaskId task);
    void give_back(TaskId task);  // the same for a lease that had not started, which records must know
    // It ended by no fault of its own, and is ready again unless it was tried often enough. `event` is lose,
    // exhaust or abort.
    void try_again(TaskId task, TaskEvent event, Outcome outcome);
    // It failed by itself and has retries left.
    void retry(TaskId task, const Outcome& outcome);
    void lose(TaskId task, const std::string& why, bool blame);
    void kill(TaskId task, const Outcome& outcome);  // ended by our order, and no fault of the task
    void succeed(TaskId task, const Outcome& outcome);
    void fail(TaskId task, Outcome outcome, bool out_of_tries = false);
    // A ready task's end time has come.
    void expire(TaskId task);
    // Out with a worker, or with a record of earlier attempts.
    void cancel(TaskId task);
    // All that is ready of the shape can never run.
    void skip_ready(ShapeId shape, const std::function<Skipped(IntervalSet)>& why);
    // What the end of some tasks means for others.
    void apply(const GroupChange& change);

    // Ends the copy, if there is one. With `kill`, its worker is told.
    void drop_copy(TaskId task, bool kill);
    // The copy succeeded or its first attempt came to nothing: the ledger knows it as the attempt.
    void promote_copy(TaskId task);

    // ---- facts ----

    // Its next loss is final, so that it runs alone: then there is no doubt who ended its worker.
    bool last_chance(TaskId task) const;
    std::uint64_t last_chances() const { return last_chances_; }
    // What an attempt of the shape took, for queues.
    void learn(ShapeId shape, double wall_us);

    std::optional<std::string> audit() const;

  private:
    struct Tries {
        std::uint32_t spent = 0;  // those that count for the limit
        std::uint32_t most = 0;   // 0: no limit
        bool all_count = false;   // not only those that were lost
    };
    Tries tries(TaskId task) const;
    void record(TaskId task, bool final, Outcome outcome, bool out_of_tries = false);
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

}  // namespace wq::scheduling

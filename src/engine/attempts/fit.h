// Answers which task fits on which worker. Read-only; each function is about one task or shape and one
// worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/attempts/open_event.h"
#include "engine/attempts/state.h"

namespace wq::engine::attempts {

class Fit {
  public:
    Fit(const State& state, const OpenEvent& event) : state_(state), event_(event) {}

    // Whether an idle worker with these `features` (sorted) could run the shape.
    bool ever_holds(const Resources& whole, const std::vector<std::string>& features, ShapeId shape) const;
    // Whether the worker could run it if it ran nothing else.
    bool could_ever_run(const Worker& worker, ShapeId shape) const;
    // The same, and the worker has enough time left.
    bool could_hold(const Worker& worker, ShapeId shape) const {
        return could_hold(worker, shape, event_.now());
    }
    bool could_hold(const Worker& worker, ShapeId shape, Instant at) const;
    static bool has_time(std::optional<Instant> leaves, const Shape& shape, Instant at) {
        return !leaves || shape.min_time <= Duration{0} || at + shape.min_time <= *leaves;
    }
    bool has_time(std::optional<Instant> leaves, const Shape& shape) const {
        return has_time(leaves, shape, event_.now());
    }
    // What a task of the shape would get if it were dispatched to the worker now; nullopt if no task of the
    // shape may go there, however much is free.
    std::optional<Resources> open_share(const Worker& worker, ShapeId shape, Among among) const;
    // Whether one more task may run: of the run, of its category.
    bool run_has_room() const;
    bool category_has_room(const Shape& shape) const {
        return state_.categories.limited.empty() || below_limit(shape);
    }
    bool one_more_may_run(const Shape& shape) const { return run_has_room() && category_has_room(shape); }
    // Ranks run leases before tickets, so a rank must get no lease with a lower priority than its tickets.
    bool has_more_urgent_tickets(const Worker& worker, double priority) const {
        return state_.batch && priority < state_.batch->priority && !state_.batch->revoked &&
               state_.may_claim(worker);
    }

    // How much of a worker a task of the shape is allocated.
    Resources share(ShapeId shape, const Resources& whole) const {
        return allocate(state_.asked(shape), whole, state_.options.allocation);
    }
    // How much ranks allocate to a task of the open batch, regardless of what changed since it was sealed.
    Resources share_by_ticket(const Resources& whole) const {
        return allocate(state_.batch->ask, whole, state_.batch->rules);
    }
    // How much it is allocated now. At the end of the run that is all that is free, because no other task
    // needs it.
    Resources given_now(ShapeId shape, const Worker& worker) const;
    // Whether it may wait in the worker's launcher, in addition to the tasks that run there.
    bool may_queue(ShapeId shape, const Worker& worker, const Resources& give) const;

    // The time limit and the monitoring of an attempt that is dispatched now.
    Duration time_for(TaskId task) const;
    Watch watch_of(ShapeId shape, const Resources& given) const;
    // Whether its end time ended it (see time_for()), not its timeout.
    bool ended_by_its_end_time(TaskId task, const Outcome& outcome) const;

    // Whether tasks are dispatched at all at this moment.
    bool dispatches() const;

  private:
    bool below_limit(const Shape& shape) const;
    std::int64_t queue_depth(ShapeId shape, const Worker& worker, const Resources& give) const;

    const State& state_;
    const OpenEvent& event_;
};

// Answers what the pool as a whole can run, and describes it in messages. Read-only; each function is about
// one shape and all workers.

// "feature a, function 'b'": for messages.
std::string describe(const std::vector<std::string>& features);

class Pool {
  public:
    Pool(const State& state, const OpenEvent& event, const Fit& fit)
        : state_(state), event_(event), fit_(fit) {}

    // Whether some worker could hold the shape if it were idle. A worker without enough time left counts,
    // because the run's next job has more time. A disconnected or draining worker counts until it leaves.
    bool fits_somewhere(const Ask& ask, const Shape& shape) const;
    bool fits_somewhere(ShapeId shape) const {
        return fits_somewhere(state_.asked(shape), state_.ledger.shape(shape));
    }
    // Whether some worker could hold the shape if it were idle, and has enough time left.
    bool could_run_in_time(ShapeId shape) const;
    // Whether the manager no longer waits for more workers.
    bool settled() const;
    // The most of each resource that any worker has.
    Resources largest() const;

    // ---- hosts ----

    // Returns a copy, because blocking a host changes the index.
    std::vector<WorkerId> workers_of(const std::string& host) const;
    // Whether the host could run the shape if it were idle, even if the host gets no tasks.
    bool host_holds(const std::string& host, ShapeId shape) const;
    // Whether a host other than `but` that gets tasks could run the shape.
    bool some_host_holds(ShapeId shape, const std::string* but) const;
    // Shapes with ready tasks that the host could run.
    std::vector<ShapeId> what_waits_for(const std::string& host) const;
    // The blocked hosts that could run the shape, if no host that gets tasks could; else "".
    std::string blocked_hosts_for(ShapeId shape) const;

    // ---- messages ----

    // What no worker has that could hold the shape: "16 cores; the largest worker has 2".
    std::string what_is_missing(ShapeId shape) const;
    bool some_share_a_host() const;

  private:
    std::string largest_for(const Ask& ask, const std::vector<std::string>& features) const;
    bool fits_an_offer(const Ask& ask, const Shape& shape) const;

    const State& state_;
    const OpenEvent& event_;
    const Fit& fit_;
};

}  // namespace wq::engine::attempts

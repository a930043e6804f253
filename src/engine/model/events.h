// The reactor's inputs (events) and outputs (actions). Both are plain values: the core has no clock, socket
// or file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/model/allocation.h"
#include "engine/model/first_allocation.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"
#include "engine/model/task.h"

namespace wq::engine::model {

// Every event brings both clocks: monotonic for decisions, wall for records.
struct Now {
    Instant instant;
    WallMicros wall = 0;
};

// ---- events: the task source ----

// New tasks at the end of the list; range.first is the number of tasks added so far.
struct TasksAdded {
    TaskRange range;
    IntervalSet done;    // of these, done in an earlier run
    IntervalSet failed;  // of these, failed for good in an earlier run; not to run again
};
struct BarrierAdded {};
struct InputEnded {};  // no more tasks will come

// ---- events: workers ----

struct WorkerJoined {
    WorkerId worker;
    std::string host;
    Resources offers;
    std::optional<Instant> leaves_at;  // the end of its batch job
    bool takes_tickets = false;        // member of the MPI pool
    bool watched = false;              // the transport reports its loss (TCP), so silence means nothing
    std::vector<std::string> features{};
};
// The worker disconnected. It gets no new leases, and is lost after `limit`; 0: at once. A second such event
// can only extend the limit.
struct WorkerDisconnected {
    WorkerId worker;
    std::string why;
    Duration limit{0};
};
// It reconnected. Leases that it does not name never reached it, or their answers have arrived: they are
// requeued without blame.
struct WorkerReconnected {
    WorkerId worker;
    std::vector<std::pair<TaskId, Attempt>> holding;
};
struct WorkerDraining {  // it will leave soon, so it gets no new tasks
    WorkerId worker;
    bool on = true;  // false: it stays after all
    // Somebody else makes it leave, and it does not know that: what it could still claim is revoked.
    bool made_to = false;
};
struct WorkerHeard {  // any frame from it arrived
    WorkerId worker;
};
struct WorkerLeft {
    WorkerId worker;
    std::string why;
    bool lost = true;  // false: it said goodbye; its leases are requeued without blame
};
struct TaskReported {
    WorkerId worker;
    TaskId task;
    Attempt attempt = 0;
    Outcome outcome;
};
// A run of calls of one batch that succeeded.
struct RangeReported {
    WorkerId worker;
    BatchId batch;
    IntervalSet done;
    WallMicros started_us = 0;
    std::int64_t wall_us = 0;  // the sum over all of them
};
struct TaskGivenBack {  // the worker had not started it
    WorkerId worker;
    TaskId task;
    Attempt attempt = 0;
};
// A ticket client's account of a batch; see batches.h.
struct TicketsReported {
    WorkerId worker;
    BatchId batch;
    IntervalSet holding;   // tasks claimed and not yet reported
    bool saw_dry = false;  // it found nothing left to claim
};

// ---- events: the run ----

struct CancelRequested {  // applies to those in a non-final state
    Interval tasks;
};

enum class StopReason : std::uint8_t { interrupted, out_of_time, halted, storage };
struct StopRequested {
    StopReason reason = StopReason::interrupted;
    Duration grace{0};  // how long running tasks may go on
};
struct StorageTrouble {  // too many results wait to be written: dispatching pauses until this ends
    bool now = false;
};
// Whether tasks are sampled, and killed if they exceed their allocation. A task's own setting takes
// precedence.
struct Monitoring {
    bool measures = false;
    bool enforces = false;  // cores, memory and disk; not without `measures`
    bool series = false;    // time series, too; not without `measures`
    bool operator==(const Monitoring&) const = default;
};
struct Tuned {  // changes by a program during the run; nullopt: unchanged
    std::optional<std::uint32_t> hold_until_workers;
    std::optional<bool> excludes_failing_hosts{};
    std::optional<double> copies_from{};  // multiple of the category's mean; below 1: no copies
    std::optional<AllocationRules> allocation{};
    std::optional<double> submit_multiplier{};
    std::optional<Monitoring> monitoring{};
    std::optional<bool> ramps_down{};
};
// What a task used in an earlier run.
struct CategorySample {
    Sizes peaks;
    Duration wall{0};
};
// Settings of a category; nullopt: unchanged.
struct CategorySet {
    CategoryId category{};
    std::optional<Sizes> max{};
    std::optional<Sizes> min{};
    std::optional<Sizes> first{};
    std::optional<AllocationMode> mode{};
    std::optional<std::int64_t> max_concurrent{};  // negative: no limit
    std::optional<std::uint32_t> steady_tasks{};
    std::optional<std::pair<ResourceKind, bool>> automatic{};
    std::vector<CategorySample> samples{};  // additional ones
};
// The host's present and future workers get no tasks. Running tasks continue.
struct HostBlocked {
    std::string host;
    std::optional<Duration> time;  // nullopt: until it is unblocked
};
struct HostUnblocked {
    std::optional<std::string> host;  // nullopt: all
};
struct FastAbortSet {  // see RunTimes::set()
    CategoryId category;
    double multiplier = 0;
};
struct Tick {};  // the time from policies::Reactor::wakeup() has come

using Event =
    std::variant<TasksAdded, BarrierAdded, InputEnded, WorkerJoined, WorkerHeard, WorkerDisconnected,
                 WorkerReconnected, WorkerDraining, WorkerLeft, TaskReported, RangeReported, TaskGivenBack,
                 TicketsReported, CancelRequested, StopRequested, StorageTrouble, Tuned, CategorySet,
                 FastAbortSet, HostBlocked, HostUnblocked, Tick>;

// ---- actions ----

struct Lease {
    WorkerId worker;
    TaskId task;
    Attempt attempt = 1;
    Resources give;
    Duration timeout{0};
    Watch watch{};
    CategoryId category;
    WallMicros submitted_us = 0;
    bool copy = false;  // another attempt of it runs elsewhere
};
struct Kill {  // those of these tasks that the worker holds; its reports on them no longer count
    WorkerId worker;
    Interval tasks;
    Attempt attempt = 0;
};
struct KillAll {  // everything that the worker runs or holds, tickets too
    WorkerId worker;
};
struct Recall {  // asks the worker to return up to `most` leases that have not started
    WorkerId worker;
    std::uint64_t most = 0;
};
struct Seal {  // the pool may claim these tasks, all of one shape, as attempt 1
    BatchId batch;
    IntervalSet tasks;
    Needs needs;
    AllocationRules rules{};
    Duration timeout{0};
    Watch watch{};
};
struct Revoke {  // tickets not claimed yet are to be returned
    BatchId batch;
};
struct BatchOver {  // every ticket is accounted for; what ranks still hold are ordinary leases
    BatchId batch;
};
struct Dismiss {  // it is to exit, or is given up: nothing from it counts any more
    WorkerId worker;
    std::string why;
    bool lost = false;
};
// An attempt has ended: for the records. Each task that ran or was lost too often has exactly one final one.
struct AttemptEnded {
    TaskId task;
    Attempt attempt = 1;
    std::uint32_t unstarted = 0;  // its attempts up to this one that never started: users do not count them
    bool final = true;
    bool by_ticket = false;     // no Lease announced its start
    bool out_of_tries = false;  // final because the tries are used up
    bool goes_on = false;       // not final, and another attempt is already running
    WorkerId worker;            // unknown_worker: it was lost with one of several
    CategoryId category;
    ShapeId shape;
    Resources given;
    WallMicros submitted_us = 0;
    WallMicros ready_us = 0;  // could have been dispatched; 0: it never was ready
    WallMicros dispatched_us = 0;
    Outcome outcome;
};
// A lease that had not started is requeued. The records know of the lease, so they need this too.
struct LeaseRequeued {
    TaskId task;
    Attempt attempt = 0;
    CategoryId category;
    Resources given;
};
// Calls of a range that succeeded as attempt 1, all final: one record for all.
struct RangeEnded {
    WorkerId worker;
    IntervalSet tasks;
    CategoryId category;
    Resources given;  // each
    WallMicros started_us = 0;
    std::int64_t wall_us = 0;  // summed
};
struct Cancelled {  // final; they may still run somewhere for a moment
    IntervalSet tasks;
};
struct Skipped {  // these can never run
    IntervalSet tasks;
    std::string reason;
    std::optional<TaskId> because;  // the failed predecessor
    std::string detail{};           // how to fix it
};
// Tasks fail there that succeed elsewhere, so the host is excluded.
struct HostExcluded {
    std::string host;
    std::string why;
    WallMicros until = 0;
};
struct HostReleased {  // it was excluded
    std::string host;
};
// The allocation of its tasks has changed, by a setting or by measurements: for the records.
struct CategoryChanged {
    CategoryId category;
    AllocationMode mode = AllocationMode::fixed;
    Sizes max, min;
    Sizes first;  // the request of a task that specifies nothing; may be whole_worker or unsaid
};
struct Warning {
    std::string text;
};
struct Finished {
    ExitCode code = ExitCode::ok;
    std::optional<StopReason> stopped;
};

using Action = std::variant<Lease, Kill, KillAll, Recall, Seal, Revoke, BatchOver, Dismiss, AttemptEnded,
                            LeaseRequeued, RangeEnded, Cancelled, Skipped, HostExcluded, HostReleased,
                            CategoryChanged, Warning, Finished>;

}  // namespace wq::engine::model

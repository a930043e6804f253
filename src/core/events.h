// What the reactor is told, and what it wants done. Both are plain values: the core has no clock, wire or
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/exit_code.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "core/allocation.h"
#include "core/first_allocation.h"
#include "core/outcome.h"
#include "core/resources.h"
#include "core/task.h"

namespace wq::core {

// Every event brings both clocks: monotonic for decisions, wall for records.
struct Now {
    Instant instant;
    WallMicros wall = 0;
};

// ---- events: the task source ----

// Tasks follow in the list; range.first is the number of tasks added so far.
struct TasksAdded {
    TaskRange range;
    IntervalSet done;    // of these, what an earlier run did
    IntervalSet failed;  // of these, what failed for good in an earlier run and is not to run again
};
struct BarrierAdded {};
struct InputEnded {};  // no more tasks will come

// ---- events: workers ----

struct WorkerJoined {
    WorkerId worker;
    std::string host;
    Resources offers;
    std::optional<Instant> leaves_at;  // its batch job ends then
    bool takes_tickets = false;        // member of the MPI pool
    bool watched = false;              // its transport tells of its loss (TCP): silence here is none
    std::vector<std::string> features{};
};
// Its link was cut. Its leases stay for ReactorOptions::away_limit, it gets no more.
struct WorkerAway {
    WorkerId worker;
    std::string why;
};
// It is there again. What is leased to it and not named here never reached it, or its answer has come: that
// goes back without blame.
struct WorkerBack {
    WorkerId worker;
    std::vector<std::pair<TaskId, Attempt>> holding;
};
struct WorkerDraining {  // it is about to leave: it gets no more
    WorkerId worker;
    bool on = true;  // false: it stays after all
    // It is made to leave and does not know it: what it could still claim is taken back.
    bool made_to = false;
};
struct WorkerHeard {  // any frame of it came
    WorkerId worker;
};
struct WorkerLeft {
    WorkerId worker;
    std::string why;
    bool lost = true;  // false: it said goodbye; what it held goes back without blame
};
struct TaskReported {
    WorkerId worker;
    TaskId task;
    Attempt attempt = 0;
    Outcome outcome;
};
// Calls of one batch that succeeded, many at once.
struct RangeReported {
    WorkerId worker;
    BatchId batch;
    IntervalSet done;
    WallMicros started_us = 0;
    std::int64_t wall_us = 0;  // of all of them, summed
};
struct TaskGivenBack {  // it had not started
    WorkerId worker;
    TaskId task;
    Attempt attempt = 0;
};
// A ticket taker's account of a batch; see batches.h.
struct TicketsReported {
    WorkerId worker;
    BatchId batch;
    IntervalSet holding;   // tasks claimed and not yet reported
    bool saw_dry = false;  // it found nothing left to claim
};

// ---- events: the run ----

struct CancelRequested {  // those in any state that is not final
    Interval tasks;
};

enum class StopReason : std::uint8_t { interrupted, out_of_time, halted, storage };
struct StopRequested {
    StopReason reason = StopReason::interrupted;
    Duration grace{0};  // running tasks may finish for so long
};
struct StorageTrouble {  // results cannot be written: give nothing out until it is over
    bool now = false;
};
// Whether tasks are sampled, and ended when they take more than they were given; what they say themselves
// goes beyond it.
struct Monitoring {
    bool measures = false;
    bool enforces = false;  // cores, memory and disk; not without `measures`
    bool operator==(const Monitoring&) const = default;
};
struct Tuned {  // what a program changes while it runs; nothing: as it was
    std::optional<std::uint32_t> hold_until_workers;
    std::optional<bool> sets_hosts_aside{};
    std::optional<double> copies_from{};  // so many times its category's mean; below 1: none
    std::optional<AllocationRules> allocation{};
    std::optional<double> submit_multiplier{};
    std::optional<Monitoring> monitoring{};
    std::optional<bool> ramps_down{};
};
// What a task took in an earlier run.
struct CategorySample {
    Sizes peaks;
    Duration wall{0};
};
// What holds for the tasks of a category; nothing: as it was.
struct CategorySet {
    CategoryId category{};
    std::optional<Sizes> max{};
    std::optional<Sizes> min{};
    std::optional<Sizes> first{};
    std::optional<AllocationMode> mode{};
    std::optional<std::int64_t> max_concurrent{};  // negative: as many as there is room for
    std::optional<std::uint32_t> steady_tasks{};
    std::optional<std::pair<ResourceKind, bool>> automatic{};
    std::vector<CategorySample> samples{};  // further ones
};
// The host's workers, those that come later too, get no tasks. What they run goes on.
struct HostBlocked {
    std::string host;
    std::optional<Duration> time;  // nothing: until it is taken back
};
struct HostUnblocked {
    std::optional<std::string> host;  // nothing: all
};
struct FastAbortSet {  // see Pace::set()
    CategoryId category;
    double multiplier = 0;
};
struct Tick {};  // the time asked for by Reactor::wakeup() has come

using Event = std::variant<TasksAdded, BarrierAdded, InputEnded, WorkerJoined, WorkerHeard, WorkerAway,
                           WorkerBack, WorkerDraining, WorkerLeft, TaskReported, RangeReported, TaskGivenBack,
                           TicketsReported, CancelRequested, StopRequested, StorageTrouble, Tuned,
                           CategorySet, FastAbortSet, HostBlocked, HostUnblocked, Tick>;

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
struct Kill {  // what it holds of these; its answers count no more
    WorkerId worker;
    Interval tasks;
    Attempt attempt = 0;
};
struct KillAll {  // whatever it runs or holds, tickets too
    WorkerId worker;
};
struct Recall {  // it is to give back up to `most` leases that have not started
    WorkerId worker;
    std::uint64_t most = 0;
};
struct Seal {  // the pool may claim these, all of one shape, as attempt 1
    BatchId batch;
    IntervalSet tasks;
    Needs needs;
    AllocationRules rules{};
    Duration timeout{0};
    Watch watch{};
};
struct Revoke {  // what is not claimed yet is to come back
    BatchId batch;
};
struct BatchOver {  // every ticket of it is accounted for; what ranks still hold are leases like any other
    BatchId batch;
};
struct Dismiss {  // it is to end, or is given up: nothing of it counts any more
    WorkerId worker;
    std::string why;
    bool lost = false;
};
// An attempt has ended: for the records. Final ones are one per task that ran or was lost too often.
struct AttemptEnded {
    TaskId task;
    Attempt attempt = 1;
    bool final = true;
    bool by_ticket = false;     // no Lease told of its beginning
    bool out_of_tries = false;  // final, as it was tried as often as it may be
    bool goes_on = false;       // not final, and another attempt of it runs already
    WorkerId worker;            // unknown_worker: it was lost with one of several
    CategoryId category;
    Resources given;
    WallMicros submitted_us = 0;
    WallMicros dispatched_us = 0;
    Outcome outcome;
};
// A lease that had not started is to be given out again: for the records, which know of the lease.
struct GoneBack {
    TaskId task;
    Attempt attempt = 0;
    CategoryId category;
    Resources given;
};
// Calls of a range that succeeded as attempt 1, all final: one record for many.
struct RangeEnded {
    WorkerId worker;
    IntervalSet tasks;
    CategoryId category;
    Resources given;  // to each
    WallMicros started_us = 0;
    std::int64_t wall_us = 0;  // summed
};
struct Cancelled {  // for good; they may still run somewhere for a moment
    IntervalSet tasks;
};
struct Skipped {  // these can never run
    IntervalSet tasks;
    std::string reason;
    std::optional<TaskId> because;  // the failed predecessor
    std::string detail{};           // what more helps to mend it
};
// It fails what succeeds elsewhere, and gets no tasks.
struct HostSetAside {
    std::string host;
    std::string why;
    WallMicros until = 0;
};
struct HostReleased {  // that was set aside
    std::string host;
};
// What its tasks are given has changed, by who uses it or by what was measured: for the records.
struct CategoryChanged {
    CategoryId category;
    AllocationMode mode = AllocationMode::fixed;
    Sizes max, min;
    Sizes first;  // what one that says nothing asks for; whole_worker, unsaid
};
struct Warning {
    std::string text;
};
struct Finished {
    ExitCode code = ExitCode::ok;
    std::optional<StopReason> stopped;
};

using Action = std::variant<Lease, Kill, KillAll, Recall, Seal, Revoke, BatchOver, Dismiss, AttemptEnded,
                            GoneBack, RangeEnded, Cancelled, Skipped, HostSetAside, HostReleased,
                            CategoryChanged, Warning, Finished>;

}  // namespace wq::core

// The account of a run: all core time that its workers offered, split without remainder into what became of
// it.
//
// A worker offers its cores from the start of its batch job (if that is not known: of its process; else: from
// when it joined), but not before the begin of the session that it joined, until it left. Time is cut at
// every event. In each piece, each core belongs to the first line of WQ_ACCOUNT_LINES that holds. Running
// tasks hold their allocation; if these are more than the worker has, each holds its share in proportion.
// What they leave is held by attempts that were dispatched and do not run (yet, or any more), in the order of
// their dispatch, up to their allocation: so a lease that waits in its worker's launcher for a core holds
// none. Tasks without cores hold none.
//
// The free cores of a worker that takes tasks belong to the first line that any ready ask gives. What a task
// would take there is what the engine's rules give by default (engine/model/allocation.h).
//
// Attempts that run have no record. In a session that is live, or that was killed, the samples say how many
// cores are allocated: so many of the free ones are `running` in the first case, `lost` (Ending::killed) in
// the second, from each sample to the next.
//
// A row of several calls holds min(cores of the worker, allocation * wall_us / (received - started)) from
// started to received: the row does not say when each call ran.
//
// All figures are integers: thousandths of a core times microseconds. The lines sum to the offer exactly, and
// offered_by() computes the offer a second time, without the attempts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "views/model/run_view.h"
#include "views/model/stays.h"

namespace wq::views::model {

// X(name, title, meaning), in the order in which they are tried, except `useful` to `idle_in_tasks`, which
// divide the time in which accepted successes ran: their processor time first.
#define WQ_ACCOUNT_LINES(X)                                                                               \
    X(useful, "useful", "processor time of the attempts whose success counts")                            \
    X(waited_for_files, "waited for files",                                                               \
      "in these attempts: waited for a disk or a file server (state D)")                                  \
    X(idle_in_tasks, "idle in tasks", "in these attempts: allocated, not used")                           \
    X(running, "running", "held by attempts that run now: what became of it is known at their end")       \
    X(lost, "lost", "held by attempts whose end does not count: failed, killed, lost, second copies")     \
    X(files_in, "files in", "held until the input files of an attempt were there")                        \
    X(files_out, "files out", "held from the end of a process until its output files were stored")        \
    X(start_and_report, "start and report", "held while an attempt was started and its end reported")     \
    X(starting, "starting", "free: the worker had not joined yet")                                        \
    X(disconnected, "disconnected", "free: the worker had lost its manager")                              \
    X(excluded, "excluded", "free: the host got no tasks")                                                \
    X(draining, "draining", "free: the worker was about to leave")                                        \
    X(manager, "manager",                                                                                 \
      "free: nothing was dispatched; the run was stopping, waited for more workers, or storage was full") \
    X(tail, "tail", "free: no task was ready, all others had ended or ran")                               \
    X(waits_for_tasks, "waits for tasks", "free: tasks waited for earlier tasks")                         \
    X(waits_for_limits, "waits for limits", "free: tasks waited for a limit of running tasks, or a time") \
    X(waits_for_program, "waits for the program", "free: the list or program had not brought a task")     \
    X(after_the_end, "after the end", "free: all tasks had ended")                                        \
    X(dispatch, "dispatch", "free: a ready task would have fitted; our own delay")                        \
    X(packing_memory_held, "packing: memory held, not used",                                              \
      "free cores; ready tasks lacked memory that attempts held and did not use")                         \
    X(packing_memory, "packing: memory", "free cores without enough free memory for any ready task")      \
    X(packing_gpus, "packing: GPUs", "free cores without a free GPU")                                     \
    X(packing_disk, "packing: disk", "free cores without enough free disk")                               \
    X(packing_coprocesses, "packing: coprocesses", "free cores without a free coprocess")                 \
    X(packing_cores, "packing: cores", "too few free cores for any ready task")                           \
    X(fits_nowhere, "fits nowhere", "free: no ready task fits this worker, even if idle")                 \
    X(unknown, "unknown",                                                                                 \
      "the source does not say: what waited, when files were there, or the processor time of an attempt")

enum class AccountLine : std::uint8_t {
#define WQ_LINE(name, title, meaning) name,
    WQ_ACCOUNT_LINES(WQ_LINE)
#undef WQ_LINE
};
constexpr AccountLine last_of(AccountLine) {
    return AccountLine::unknown;
}
inline constexpr std::size_t account_line_count = static_cast<std::size_t>(last_of(AccountLine{})) + 1;
const char* name_of(AccountLine line);   // "files_in": in JSON
const char* title_of(AccountLine line);  // "files in"
const char* meaning_of(AccountLine line);

struct Account {
    CoreTime offered = 0;
    std::array<CoreTime, account_line_count> lines{};  // their sum is `offered`
    // Beside the sum.
    std::array<CoreTime, engine::model::ending_count> lost_by_ending{};  // sums to the line `lost`
    CoreTime idle_not_sampled = 0;  // of `idle_in_tasks`: without samples, so a part may be waits for files
    CoreTime not_offered = 0;       // cores of allocations that their workers do not offer
    CoreTime above_allocation = 0;  // processor time of accepted successes beyond what they held

    CoreTime& at(AccountLine line) { return lines[static_cast<std::size_t>(line)]; }
    CoreTime at(AccountLine line) const { return lines[static_cast<std::size_t>(line)]; }
};

// The account of the whole run. Costs O(n log n) for n attempts, and a little for each change of what waits
// and each group of equal workers.
Account account_of(const RunView& run);

// What workers of the run offered, from /workers and the times of its sessions.
CoreTime offered_by(std::span<const RunWorker> workers, const RunView& run);

}  // namespace wq::views::model

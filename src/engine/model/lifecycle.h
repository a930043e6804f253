// The states of a task, as one table. Every change of state goes through next_state(); nothing else may
// assign a state. diagram() prints the table as a Graphviz drawing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wq::engine::model {

enum class TaskState : std::uint8_t {
    blocked,    // waits for an earlier line of one of its groups
    ready,      // may be dispatched
    leased,     // given to one worker, as attempt k
    sealed,     // part of a batch that the MPI pool claims by ticket, as attempt k
    done,       // succeeded
    failed,     // failed for good
    skipped,    // can never run: a predecessor failed, or no worker is large enough
    cancelled,  // by the user
};
inline constexpr int task_state_count = 8;

enum class TaskEvent : std::uint8_t {
    unblock,        // the last stage that it waited for has opened
    lease,          // given to a worker
    seal,           // put into a batch
    succeed,        // its outcome: success
    fail,           // its outcome: failure without a retry left; or lost too often
    retry,          // its outcome: failure with a retry left
    give_back,      // never started (drain, recall, revoke): counts as no attempt
    lose,           // its worker was lost
    exhaust,        // its outcome: it exceeded its allocation and may run again
    abort,          // killed because it took too long; may run again
    skip,           // it can never run
    resume_done,    // the journal of an earlier run says done
    resume_failed,  // the journal of an earlier run says failed
    cancel,         // by the user
    expire,         // its end time came before it was dispatched
};
inline constexpr int task_event_count = 15;

// The state after `event` in `state`; nullopt if the table has no such transition.
std::optional<TaskState> next_state(TaskState state, TaskEvent event);

constexpr bool is_final(TaskState state) {
    return state >= TaskState::done;
}
const char* name_of(TaskState state);
const char* name_of(TaskEvent event);
std::string diagram();

}  // namespace wq::engine::model

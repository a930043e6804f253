// The life of a task, as one table. Every change of a task's state goes through next_state(); nothing else
// may assign a state. diagram() prints the table as a Graphviz drawing, which the developer's guide shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wq::core {

enum class TaskState : std::uint8_t {
    blocked,    // waits for an earlier line of one of its groups
    ready,      // may be given out
    leased,     // given to one worker, as attempt k
    sealed,     // part of a batch that the MPI pool claims by ticket, as attempt k
    done,       // succeeded
    failed,     // failed for good
    skipped,    // can never run: a predecessor failed, or no worker can hold it
    cancelled,  // by the user
};
inline constexpr int task_state_count = 8;

enum class TaskEvent : std::uint8_t {
    unblock,        // the last stage that it waited for is open
    lease,          // given to a worker
    seal,           // put into a batch
    succeed,        // its outcome came: success
    fail,           // its outcome came: failure, no retry left; or lost too often
    retry,          // its outcome came: failure, a retry is left
    give_back,      // never started (drain, recall, revoke): costs nothing
    lose,           // its worker was lost with it
    exhaust,        // its outcome came: it used up what it was given, and may run again
    abort,          // it was ended as it took too long, and may run again
    skip,           // it can never run
    resume_done,    // an earlier run's journal says done
    resume_failed,  // an earlier run's journal says failed
    cancel,         // the user wants it no more
    expire,         // its end time came before it was given out
};
inline constexpr int task_event_count = 15;

// The state after `event` in `state`; nothing where the table has no such arrow.
std::optional<TaskState> next_state(TaskState state, TaskEvent event);

constexpr bool is_final(TaskState state) {
    return state >= TaskState::done;
}
const char* name_of(TaskState state);
const char* name_of(TaskEvent event);
std::string diagram();

}  // namespace wq::core

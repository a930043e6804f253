// Statistics of a manager: Work Queue's table of performance statistics. Times are microseconds, memory and
// disk MB of 2^20 bytes. Statistics that are not counted are 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] wq {

struct Statistics {
    std::int64_t time_when_started = 0;  // us since 1970-01-01 UTC

    std::int64_t workers_connected = 0;         // connected now
    std::int64_t workers_init = 0;              // connected, resources not yet reported
    std::int64_t workers_idle = 0;              // running no task
    std::int64_t workers_busy = 0;              // running at least one task
    std::int64_t workers_able = 0;              // able to hold the largest waiting task, by each resource
    std::int64_t workers_joined = 0;            // joined since the start
    std::int64_t workers_removed = 0;           // gone since the start, for any reason
    std::int64_t workers_released = 0;          // released by the manager before its end
    std::int64_t workers_idled_out = 0;         // left because no task came for them
    std::int64_t workers_fast_aborted = 0;      // made to end a task that took too long
    std::int64_t workers_blocked = 0;           // of blocked hosts, since the start
    std::int64_t workers_lost = 0;              // lost unexpectedly
    std::int64_t tasks_waiting = 0;             // waiting to be dispatched
    std::int64_t tasks_on_workers = 0;          // dispatched to some worker
    std::int64_t tasks_running = 0;             // executing at some worker
    std::int64_t tasks_with_results = 0;        // ended, result not yet recorded
    std::int64_t tasks_submitted = 0;           // submitted since the start
    std::int64_t tasks_dispatched = 0;          // attempts dispatched since the start
    std::int64_t tasks_done = 0;                // ended for good, failed ones too
    std::int64_t tasks_failed = 0;              // ended for good without success
    std::int64_t tasks_cancelled = 0;           // cancelled
    std::int64_t tasks_exhausted_attempts = 0;  // attempts: ended by exhausting a resource
    std::int64_t time_send = 0;                 // us: sending tasks to workers
    std::int64_t time_receive = 0;              // us: receiving results, and noting them
    std::int64_t time_send_good = 0;            // us: time_send, by the share of attempts that succeeded
    std::int64_t time_receive_good = 0;         // us: time_receive, by the share of attempts that succeeded
    std::int64_t time_status_msgs = 0;          // us: all other messages, both ways
    std::int64_t time_internal = 0;             // us: internal processing
    std::int64_t time_polling = 0;              // us: waiting for something to happen
    std::int64_t time_application = 0;          // us: spent by the program outside wait()
    std::int64_t time_execute = 0;              // us: workers executing tasks that ended
    std::int64_t time_execute_good = 0;         // us: workers executing tasks that succeeded
    std::int64_t time_execute_exhaustion = 0;   // us: workers executing tasks that exhausted a resource
    std::int64_t bytes_sent = 0;                // bytes: file bytes sent to workers
    std::int64_t bytes_received = 0;            // bytes: output and results received from workers
    double bandwidth = 0;                       // MB/s: of transfers on average, bytes by the time each took
    std::int64_t capacity_tasks = 0;            // could be kept busy, by the last 50 ends; 0: none yet
    std::int64_t capacity_cores = 0;            // cores: capacity_tasks times their mean cores
    std::int64_t capacity_memory = 0;           // MB: capacity_tasks times their mean memory
    std::int64_t capacity_disk = 0;             // MB: capacity_tasks times their mean disk
    std::int64_t capacity_instantaneous = 0;    // capacity_tasks, by the last ends alone
    std::int64_t capacity_weighted = 0;         // capacity_tasks, with more weight on recent ends
    double manager_load = 0;                    // busy share of the manager, 0 to 1
    std::int64_t total_cores = 0;               // cores: of connected workers
    std::int64_t total_memory = 0;              // MB: of connected workers
    std::int64_t total_disk = 0;                // MB: of connected workers
    std::int64_t committed_cores = 0;           // cores: given to tasks
    std::int64_t committed_memory = 0;          // MB: given to tasks
    std::int64_t committed_disk = 0;            // MB: given to tasks
    std::int64_t max_cores = 0;                 // cores: largest worker
    std::int64_t max_memory = 0;                // MB: largest worker
    std::int64_t max_disk = 0;                  // MB: largest worker
    std::int64_t min_cores = 0;                 // cores: smallest worker
    std::int64_t min_memory = 0;                // MB: smallest worker
    std::int64_t min_disk = 0;                  // MB: smallest worker
    std::int64_t capacity_gpus = 0;             // capacity_tasks times their mean GPUs
    std::int64_t total_gpus = 0;                // of connected workers
    std::int64_t committed_gpus = 0;            // given to tasks
    std::int64_t max_gpus = 0;                  // largest worker
    std::int64_t min_gpus = 0;                  // smallest worker

    // Other names in the manual.
    std::int64_t workers_blacklisted = 0;              // workers_blocked
    std::int64_t time_workers_execute = 0;             // time_execute
    std::int64_t time_workers_execute_good = 0;        // time_execute_good
    std::int64_t time_workers_execute_exhaustion = 0;  // time_execute_exhaustion

    // Not in the manual.
    std::int64_t tasks_lost_attempts = 0;    // attempts: lost with their worker
    std::int64_t hosts_blocked = 0;          // hosts: that get no tasks now
    std::int64_t tasks_copied_attempts = 0;  // attempts: second copies of tasks that took long
    std::int64_t workers_wanted = 0;         // workers: that a factory beside the run wants (--grow)
    std::int64_t workers_pending = 0;        // workers: its jobs without a connected worker
};

// A task, or a call of a range, that a worker has, and what is allocated to it.
struct DispatchedTask {
    std::int64_t id = 0;  // as submit() returned it, from 1
    double cores = 0;
    std::int64_t memory = 0;
    std::int64_t disk = 0;
    double gpus = 0;
    std::int64_t submitted = 0;   // us since 1970-01-01 UTC
    std::int64_t dispatched = 0;  // same
};

// A worker that is connected, or may reconnect. Memory and disk are MB of 2^20 bytes.
struct WorkerSummary {
    std::int64_t id = 0;  // WORKERID of its tasks
    std::string host;
    std::string address;  // "10.0.0.7:40112"; of a rank: "node3:rank 5"
    std::string os;       // "Linux" and
    std::string arch;     // "x86_64": as uname says
    std::vector<std::string> features;
    bool connected = true;
    std::int64_t joined = 0;                 // us since 1970-01-01 UTC
    std::int64_t tasks_ended = 0;            // attempts that have ended there
    std::int64_t tasks = 0;                  // dispatched to it
    std::vector<DispatchedTask> dispatched;  // these, by their ids
    double cores = 0;
    std::int64_t memory = 0;
    std::int64_t disk = 0;
    double gpus = 0;
    // Of these, allocated to tasks.
    double cores_used = 0;
    std::int64_t memory_used = 0;
    std::int64_t disk_used = 0;
    double gpus_used = 0;
};

}  // namespace gnu::visibility("default")]]wq

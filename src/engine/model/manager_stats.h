// The statistics of the manual ("Performance Statistics"), as one table: the struct, the text log, the HDF5
// dataset and the page of the user guide are generated from it. Times are microseconds, sizes MB of 2^20
// bytes unless noted. Order and names are those of Work Queue's statistics log; figures that are not counted
// are 0, and their text says so.
#pragma once

#include <cstdint>
#include <string_view>

namespace wq::engine::model {

// Workers' figures are not trusted: the sum must not overflow.
inline void add_bounded(std::int64_t& sum, std::int64_t more) {
    if (__builtin_add_overflow(sum, more, &sum)) sum = INT64_MAX;
}

// X(type, name, unit, meaning)
#define WQ_MANAGER_STATS(X)                                                                             \
    X(std::int64_t, workers_connected, "workers", "connected now")                                      \
    X(std::int64_t, workers_init, "workers", "connected, resources not yet reported")                   \
    X(std::int64_t, workers_idle, "workers", "running no task")                                         \
    X(std::int64_t, workers_busy, "workers", "running at least one task")                               \
    X(std::int64_t, workers_able, "workers", "able to hold the largest waiting task, by each resource") \
    X(std::int64_t, workers_joined, "workers", "joined since the start")                                \
    X(std::int64_t, workers_removed, "workers", "gone since the start, for any reason")                 \
    X(std::int64_t, workers_released, "workers", "released by the manager before its end")              \
    X(std::int64_t, workers_idled_out, "workers", "left because no task came for them")                 \
    X(std::int64_t, workers_fast_aborted, "workers", "made to end a task that took too long")           \
    X(std::int64_t, workers_blocked, "workers", "of blocked hosts, since the start")                    \
    X(std::int64_t, workers_lost, "workers", "lost unexpectedly")                                       \
    X(std::int64_t, tasks_waiting, "tasks", "waiting to be dispatched")                                 \
    X(std::int64_t, tasks_on_workers, "tasks", "dispatched to some worker")                             \
    X(std::int64_t, tasks_running, "tasks", "executing at some worker")                                 \
    X(std::int64_t, tasks_with_results, "tasks", "ended, result not yet recorded")                      \
    X(std::int64_t, tasks_submitted, "tasks", "submitted since the start")                              \
    X(std::int64_t, tasks_dispatched, "tasks", "attempts dispatched since the start")                   \
    X(std::int64_t, tasks_done, "tasks", "ended for good, failed ones too")                             \
    X(std::int64_t, tasks_failed, "tasks", "ended for good without success")                            \
    X(std::int64_t, tasks_cancelled, "tasks", "cancelled")                                              \
    X(std::int64_t, tasks_exhausted_attempts, "attempts", "ended by exhausting a resource")             \
    X(std::int64_t, time_send, "us", "sending tasks to workers")                                        \
    X(std::int64_t, time_receive, "us", "receiving results, and noting them")                           \
    X(std::int64_t, time_send_good, "us", "time_send, by the share of attempts that succeeded")         \
    X(std::int64_t, time_receive_good, "us", "time_receive, by the share of attempts that succeeded")   \
    X(std::int64_t, time_status_msgs, "us", "all other messages, both ways")                            \
    X(std::int64_t, time_internal, "us", "internal processing")                                         \
    X(std::int64_t, time_polling, "us", "waiting for something to happen")                              \
    X(std::int64_t, time_application, "us", "a program outside of wait(); 0 of work_queue_run")         \
    X(std::int64_t, time_execute, "us", "workers executing tasks that ended")                           \
    X(std::int64_t, time_execute_good, "us", "workers executing tasks that succeeded")                  \
    X(std::int64_t, time_execute_exhaustion, "us", "workers executing tasks that exhausted a resource") \
    X(std::int64_t, bytes_sent, "bytes", "file bytes sent to workers")                                  \
    X(std::int64_t, bytes_received, "bytes", "output and results received from workers")                \
    X(double, bandwidth, "MB/s", "of transfers on average: bytes by the time each took")                \
    X(std::int64_t, capacity_tasks, "tasks", "could be kept busy, by the last 50 ends; 0: none yet")    \
    X(std::int64_t, capacity_cores, "cores", "capacity_tasks times their mean cores")                   \
    X(std::int64_t, capacity_memory, "MB", "capacity_tasks times their mean memory")                    \
    X(std::int64_t, capacity_disk, "MB", "capacity_tasks times their mean disk")                        \
    X(std::int64_t, capacity_instantaneous, "tasks", "capacity_tasks, by the last ends alone")          \
    X(std::int64_t, capacity_weighted, "tasks", "capacity_tasks, with more weight on recent ends")      \
    X(double, manager_load, "1", "busy share of the manager, 0 to 1")                                   \
    X(std::int64_t, total_cores, "cores", "of connected workers")                                       \
    X(std::int64_t, total_memory, "MB", "of connected workers")                                         \
    X(std::int64_t, total_disk, "MB", "of connected workers")                                           \
    X(std::int64_t, committed_cores, "cores", "given to tasks")                                         \
    X(std::int64_t, committed_memory, "MB", "given to tasks")                                           \
    X(std::int64_t, committed_disk, "MB", "given to tasks")                                             \
    X(std::int64_t, max_cores, "cores", "largest worker")                                               \
    X(std::int64_t, max_memory, "MB", "largest worker")                                                 \
    X(std::int64_t, max_disk, "MB", "largest worker")                                                   \
    X(std::int64_t, min_cores, "cores", "smallest worker")                                              \
    X(std::int64_t, min_memory, "MB", "smallest worker")                                                \
    X(std::int64_t, min_disk, "MB", "smallest worker")

// Figures that the manual lacks; in files they come last.
#define WQ_OWN_STATS(X)                                                                         \
    X(std::int64_t, tasks_lost_attempts, "attempts", "lost with their worker")                  \
    X(std::int64_t, hosts_blocked, "hosts", "that get no tasks now")                            \
    X(std::int64_t, tasks_copied_attempts, "attempts", "second copies of tasks that took long") \
    X(std::int64_t, workers_wanted, "workers", "that a factory beside the run wants (--grow)")  \
    X(std::int64_t, workers_pending, "workers", "its jobs without a connected worker")

// GPUs, as of cores: only programs are told of them, no file.
#define WQ_GPU_STATS(X)                                                            \
    X(std::int64_t, capacity_gpus, "gpus", "capacity_tasks times their mean GPUs") \
    X(std::int64_t, total_gpus, "gpus", "of connected workers")                    \
    X(std::int64_t, committed_gpus, "gpus", "given to tasks")                      \
    X(std::int64_t, max_gpus, "gpus", "largest worker")                            \
    X(std::int64_t, min_gpus, "gpus", "smallest worker")

// Four names of the manual's table differ from those in Work Queue's log, so programs and datasets have both.
#define WQ_MANAGER_ALIASES(X)                                                                            \
    X(std::int64_t, workers_blacklisted, workers_blocked, "workers", "CCTools' name of workers_blocked") \
    X(std::int64_t, time_workers_execute, time_execute, "us", "CCTools' name of time_execute")           \
    X(std::int64_t, time_workers_execute_good, time_execute_good, "us",                                  \
      "CCTools' name of time_execute_good")                                                              \
    X(std::int64_t, time_workers_execute_exhaustion, time_execute_exhaustion, "us",                      \
      "CCTools' name of time_execute_exhaustion")

// CCTools' older names, which only its programs use.
// X(name, of)
#define WQ_OLD_STATS(X)                                      \
    X(total_workers_connected, workers_connected)            \
    X(total_workers_joined, workers_joined)                  \
    X(total_workers_removed, workers_removed)                \
    X(total_workers_lost, workers_lost)                      \
    X(total_workers_idled_out, workers_idled_out)            \
    X(total_workers_fast_aborted, workers_fast_aborted)      \
    X(workers_ready, workers_idle)                           \
    X(workers_full, workers_busy)                            \
    X(total_worker_slots, tasks_running)                     \
    X(tasks_complete, tasks_with_results)                    \
    X(total_tasks_dispatched, tasks_dispatched)              \
    X(total_tasks_complete, tasks_done)                      \
    X(total_tasks_failed, tasks_failed)                      \
    X(total_tasks_cancelled, tasks_cancelled)                \
    X(total_exhausted_attempts, tasks_exhausted_attempts)    \
    X(start_time, time_when_started)                         \
    X(total_send_time, time_send)                            \
    X(total_receive_time, time_receive)                      \
    X(total_execute_time, time_execute)                      \
    X(total_good_execute_time, time_execute_good)            \
    X(total_exhausted_execute_time, time_execute_exhaustion) \
    X(total_bytes_sent, bytes_sent)                          \
    X(total_bytes_received, bytes_received)                  \
    X(capacity, capacity_cores)                              \
    X(avg_capacity, capacity_cores)

// What runs on while nothing happens.
#define WQ_CLOCK_STATS(X) \
    X(time_status_msgs)   \
    X(time_internal)      \
    X(time_polling)       \
    X(time_application)   \
    X(manager_load)

struct ManagerStats {
    std::int64_t time_when_started = 0;  // wall clock, us
#define WQ_FIELD(type, name, unit, meaning) type name = 0;
    WQ_MANAGER_STATS(WQ_FIELD)
    WQ_OWN_STATS(WQ_FIELD)
    WQ_GPU_STATS(WQ_FIELD)
#undef WQ_FIELD

    friend bool operator==(const ManagerStats&, const ManagerStats&) = default;
};

}  // namespace wq::engine::model

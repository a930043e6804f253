/** @file work_queue_stats.h Statistics of a queue. */
#ifndef WORK_QUEUE_STATS_H
#define WORK_QUEUE_STATS_H

#include <stdint.h>

#ifdef SWIG
%include "timestamp.h"
#else
#include "timestamp.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rmsummary;
struct work_queue;

/** Statistics of a queue. Times are durations in microseconds unless said; memory and disk are MB of 2^20
 * bytes. */
struct work_queue_stats {
    int workers_connected;    /**< Connected now. */
    int workers_init;         /**< Connected, with resources not yet known. */
    int workers_idle;         /**< Running no task. */
    int workers_busy;         /**< Running at least one task. */
    int workers_able;         /**< Able to hold the largest waiting task. */
    int workers_joined;       /**< Joined since the start. */
    int workers_removed;      /**< Left since the start, for any reason. */
    int workers_released;     /**< Released by the queue. */
    int workers_idled_out;    /**< Left by their idle timeout. */
    int workers_fast_aborted; /**< Asked to kill a task that took too long. */
    int workers_blocked;      /**< Of blocked hosts. */
    int workers_lost;         /**< Lost. */

    int tasks_waiting;            /**< Waiting to be dispatched. */
    int tasks_on_workers;         /**< Dispatched to a worker. */
    int tasks_running;            /**< Running. */
    int tasks_with_results;       /**< Ended, not yet recorded. */
    int tasks_submitted;          /**< Submitted. */
    int tasks_dispatched;         /**< Dispatched attempts. */
    int tasks_done;               /**< Ended for good, failed ones too. */
    int tasks_failed;             /**< Ended for good with a result other than SUCCESS. */
    int tasks_cancelled;          /**< Cancelled. */
    int tasks_exhausted_attempts; /**< Attempts that exhausted a resource. */

    timestamp_t time_when_started;               /**< us since 1970. */
    timestamp_t time_send;                       /**< Sending tasks. */
    timestamp_t time_receive;                    /**< Receiving results. */
    timestamp_t time_send_good;                  /**< time_send of successful attempts, by their share. */
    timestamp_t time_receive_good;               /**< time_receive of successful attempts, by their share. */
    timestamp_t time_status_msgs;                /**< All other messages. */
    timestamp_t time_internal;                   /**< Internal work. */
    timestamp_t time_polling;                    /**< Waiting for something to happen. */
    timestamp_t time_application;                /**< Spent by the program outside work_queue_wait(). */
    timestamp_t time_workers_execute;            /**< Of workers, running tasks that have ended. */
    timestamp_t time_workers_execute_good;       /**< Of workers, running tasks that succeeded. */
    timestamp_t time_workers_execute_exhaustion; /**< Of workers, running tasks that exhausted a resource. */

    int64_t bytes_sent;     /**< Bytes of files sent to workers. */
    int64_t bytes_received; /**< Bytes of results and files received. */
    double bandwidth;       /**< MB/s, of all transfers. */

    int capacity_tasks;         /**< Tasks that could be kept running; 0: unknown. */
    int capacity_cores;         /**< Their cores. */
    int capacity_memory;        /**< Their memory. */
    int capacity_disk;          /**< Their disk. */
    int capacity_gpus;          /**< Their GPUs. */
    int capacity_instantaneous; /**< capacity_tasks, by the last tasks alone. */
    int capacity_weighted;      /**< capacity_tasks, with more weight on the last tasks. */

    int64_t total_cores;      /**< Of all workers. */
    int64_t total_memory;     /**< Of all workers. */
    int64_t total_disk;       /**< Of all workers. */
    int64_t committed_cores;  /**< Allocated to tasks. */
    int64_t committed_memory; /**< Allocated to tasks. */
    int64_t committed_disk;   /**< Allocated to tasks. */
    int64_t max_cores;        /**< Of the largest worker. */
    int64_t max_memory;       /**< Of the largest worker. */
    int64_t max_disk;         /**< Of the largest worker. */
    int64_t min_cores;        /**< Of the smallest worker. */
    int64_t min_memory;       /**< Of the smallest worker. */
    int64_t min_disk;         /**< Of the smallest worker. */
    double manager_load;      /**< Busy share of the manager, 0 to 1. */

    /** @name Other names
     * Of statistics above; 0 if there is none. */
    /**@{*/
    int total_workers_connected;              /**< workers_connected */
    int total_workers_joined;                 /**< workers_joined */
    int total_workers_removed;                /**< workers_removed */
    int total_workers_lost;                   /**< workers_lost */
    int total_workers_idled_out;              /**< workers_idled_out */
    int total_workers_fast_aborted;           /**< workers_fast_aborted */
    int tasks_complete;                       /**< tasks_with_results */
    int total_tasks_dispatched;               /**< tasks_dispatched */
    int total_tasks_complete;                 /**< tasks_done */
    int total_tasks_failed;                   /**< tasks_failed */
    int total_tasks_cancelled;                /**< tasks_cancelled */
    int total_exhausted_attempts;             /**< tasks_exhausted_attempts */
    timestamp_t start_time;                   /**< time_when_started */
    timestamp_t total_send_time;              /**< time_send */
    timestamp_t total_receive_time;           /**< time_receive */
    timestamp_t total_good_transfer_time;     /**< time_send_good and time_receive_good */
    timestamp_t total_execute_time;           /**< time_workers_execute */
    timestamp_t total_good_execute_time;      /**< time_workers_execute_good */
    timestamp_t total_exhausted_execute_time; /**< time_workers_execute_exhaustion */
    int64_t total_bytes_sent;                 /**< bytes_sent */
    int64_t total_bytes_received;             /**< bytes_received */
    double capacity;                          /**< capacity_cores */
    double efficiency;       /**< Share of the workers' time spent on tasks that succeeded. */
    double idle_percentage;  /**< Share of its time that the manager waits. */
    int64_t total_gpus;      /**< Of all workers. */
    int64_t committed_gpus;  /**< Given to tasks. */
    int64_t max_gpus;        /**< Of the largest worker. */
    int64_t min_gpus;        /**< Of the smallest worker. */
    int port;                /**< work_queue_port() */
    int priority;            /**< As specified. */
    int workers_ready;       /**< workers_idle */
    int workers_full;        /**< workers_busy */
    int total_worker_slots;  /**< tasks_running */
    int avg_capacity;        /**< capacity_cores */
    int workers_blacklisted; /**< workers_blocked */
    /**@}*/
};

/** @name Functions */
/**@{*/

/** Statistics of the whole queue. */
void work_queue_get_stats(struct work_queue* q, struct work_queue_stats* s);

/** The same: there are no foremen. */
void work_queue_get_stats_hierarchy(struct work_queue* q, struct work_queue_stats* s);

/** Statistics of one category's tasks (NULL: "default"); those of workers and manager are for all. */
void work_queue_get_stats_category(struct work_queue* q, const char* category, struct work_queue_stats* s);

/** Returns JSON, to be freed: a list of objects with CCTools' names, which the page python.md lists. "queue"
 * or NULL: one object; "tasks": the tasks in the queue; "workers": its workers; "categories": the categories
 * used. Other requests: an empty list. NULL: no queue. */
char* work_queue_status(struct work_queue* q, const char* request);

/** Returns an array, ended by NULL, with an element for connected workers of one size: `workers` is how many
 * they are, `cores`, `memory`, `disk` and `gpus` what each of them has. Delete each element with
 * rmsummary_delete(), and the array with free(). NULL: no queue. */
struct rmsummary** work_queue_workers_summary(struct work_queue* q);

/** The text "n/a", to be freed. NULL: no queue. */
char* work_queue_get_worker_summary(struct work_queue* q);

/** MB/s of all transfers so far. */
double work_queue_get_effective_bandwidth(struct work_queue* q);

/**@}*/

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

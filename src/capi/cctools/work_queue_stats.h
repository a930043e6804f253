/** @file work_queue_stats.h What a queue counts. */
#ifndef WORK_QUEUE_STATS_H
#define WORK_QUEUE_STATS_H

#include <stdint.h>

#include "timestamp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rmsummary;
struct work_queue;

/** What a queue counts. Times that are no points in time are lengths, in microseconds; memory and disk are MB
 * of 2^20 bytes. */
struct work_queue_stats {
    int workers_connected;    /**< Connected now. */
    int workers_init;         /**< Connected, with resources not yet known. */
    int workers_idle;         /**< That run no task. */
    int workers_busy;         /**< That run at least one task. */
    int workers_able;         /**< That could hold the largest task that waits. */
    int workers_joined;       /**< That ever came. */
    int workers_removed;      /**< That are gone, for any reason. */
    int workers_released;     /**< That the queue let go. */
    int workers_idled_out;    /**< That left because nothing came for them. */
    int workers_fast_aborted; /**< That were made to end a task that took too long. */
    int workers_blocked;      /**< Of hosts that were blocked. */
    int workers_lost;         /**< That were lost. */

    int tasks_waiting;            /**< That wait for a worker. */
    int tasks_on_workers;         /**< That a worker has. */
    int tasks_running;            /**< That run. */
    int tasks_with_results;       /**< That have ended and are not yet recorded. */
    int tasks_submitted;          /**< That were submitted. */
    int tasks_dispatched;         /**< Attempts that were given to workers. */
    int tasks_done;               /**< That have ended for good, failed ones too. */
    int tasks_failed;             /**< That have ended for good with another result than SUCCESS. */
    int tasks_cancelled;          /**< That were cancelled. */
    int tasks_exhausted_attempts; /**< Attempts that were ended by exhausting a resource. */

    timestamp_t time_when_started;               /**< us since 1970. */
    timestamp_t time_send;                       /**< Sending tasks. */
    timestamp_t time_receive;                    /**< Receiving results. */
    timestamp_t time_send_good;                  /**< The share of attempts that succeeded in time_send. */
    timestamp_t time_receive_good;               /**< The share of attempts that succeeded in time_receive. */
    timestamp_t time_status_msgs;                /**< All other messages. */
    timestamp_t time_internal;                   /**< Own work. */
    timestamp_t time_polling;                    /**< Waiting for something to happen. */
    timestamp_t time_application;                /**< Spent by the program outside work_queue_wait(). */
    timestamp_t time_workers_execute;            /**< Of workers, running tasks that have ended. */
    timestamp_t time_workers_execute_good;       /**< Of workers, running tasks that succeeded. */
    timestamp_t time_workers_execute_exhaustion; /**< Of workers, running tasks that exhausted a resource. */

    int64_t bytes_sent;     /**< Bytes of files sent to workers. */
    int64_t bytes_received; /**< Bytes of results and files received. */
    double bandwidth;       /**< MB/s, of all transfers. */

    int capacity_tasks;         /**< Tasks that could be kept going; 0: not known yet. */
    int capacity_cores;         /**< Their cores. */
    int capacity_memory;        /**< Their memory. */
    int capacity_disk;          /**< Their disk. */
    int capacity_gpus;          /**< Not counted: 0. */
    int capacity_instantaneous; /**< capacity_tasks, by the last tasks alone. */
    int capacity_weighted;      /**< capacity_tasks, with more weight on the last tasks. */

    int64_t total_cores;      /**< Of all workers. */
    int64_t total_memory;     /**< Of all workers. */
    int64_t total_disk;       /**< Of all workers. */
    int64_t committed_cores;  /**< Given to tasks. */
    int64_t committed_memory; /**< Given to tasks. */
    int64_t committed_disk;   /**< Given to tasks. */
    int64_t max_cores;        /**< Of the largest worker. */
    int64_t max_memory;       /**< Of the largest worker. */
    int64_t max_disk;         /**< Of the largest worker. */
    int64_t min_cores;        /**< Of the smallest worker. */
    int64_t min_memory;       /**< Of the smallest worker. */
    int64_t min_disk;         /**< Of the smallest worker. */
    double manager_load;      /**< Busy share of the manager, 0 to 1. */

    /** @name Other names
     * Of figures above; those that have no twin are 0. */
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
    double efficiency;       /**< Share of the workers' time that went into tasks that succeeded. */
    double idle_percentage;  /**< Share of its time that the manager waits. */
    int64_t total_gpus;      /**< Not counted: 0. */
    int64_t committed_gpus;  /**< Not counted: 0. */
    int64_t max_gpus;        /**< Not counted: 0. */
    int64_t min_gpus;        /**< Not counted: 0. */
    int port;                /**< work_queue_port() */
    int priority;            /**< As specified. */
    int workers_ready;       /**< workers_idle */
    int workers_full;        /**< workers_busy */
    int total_worker_slots;  /**< tasks_running */
    int avg_capacity;        /**< capacity_cores */
    int workers_blacklisted; /**< workers_blocked */
    /**@}*/
};

/** @name Figures */
/**@{*/

/** Of the whole queue. */
void work_queue_get_stats(struct work_queue* q, struct work_queue_stats* s);

/** The same: there are no managers below this one. */
void work_queue_get_stats_hierarchy(struct work_queue* q, struct work_queue_stats* s);

/** Of the tasks of one category (NULL: "default"); those of workers and of the manager are of the whole. */
void work_queue_get_stats_category(struct work_queue* q, const char* category, struct work_queue_stats* s);

/** JSON, to be freed: of "queue" its figures in a list of one, of "tasks" those that are in the queue, of
 * "categories" those that were named; of "workers" an empty list yet. "[]" for other requests, too. NULL: no
 * queue. */
char* work_queue_status(struct work_queue* q, const char* request);

/** The resources of each worker, NULL behind the last; to be freed, each by rmsummary_delete(), and then the
 * whole by free(). An empty one yet. NULL: no queue. */
struct rmsummary** work_queue_workers_summary(struct work_queue* q);

/** The text "n/a", to be freed. NULL: no queue. */
char* work_queue_get_worker_summary(struct work_queue* q);

/** MB/s of all transfers up to now. */
double work_queue_get_effective_bandwidth(struct work_queue* q);

/**@}*/

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

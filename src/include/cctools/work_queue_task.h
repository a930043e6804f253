/** @file work_queue_task.h A task: what to run, what it needs, and its result. */
#ifndef WORK_QUEUE_TASK_H
#define WORK_QUEUE_TASK_H

#include <stdint.h>
#include <sys/types.h>

#ifdef SWIG
%include "rmsummary.h"
%include "timestamp.h"
%include "work_queue_types.h"
#else
#include "rmsummary.h"
#include "timestamp.h"
#include "work_queue_types.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct list;

/** A task. Create it with work_queue_task_create(), specify it with the functions below, and delete it with
 * work_queue_task_delete(). Only read its fields. Strings stay valid until you change, resubmit or delete the
 * task. Fields from `output` on are set when work_queue_wait() has returned the task. */
struct work_queue_task {
    char* tag;                                        /**< Any text; NULL: none. */
    char* command_line;                               /**< The shell line; NULL: none yet. */
    work_queue_schedule_t worker_selection_algorithm; /**< As specified. */
    char* output;                                     /**< Its stdout, followed by its stderr. */
    struct list* input_files;                         /**< Not used: NULL. */
    struct list* output_files;                        /**< Not used: NULL. */
    struct list* env_list;                            /**< Not used: NULL. */
    int taskid;        /**< As work_queue_submit() returned it; 0: not submitted. */
    int return_status; /**< Exit code; with @ref WORK_QUEUE_RESULT_SIGNAL the signal; -1: it never ran. */
    int exit_status;   /**< The same. */
    work_queue_result_t result; /**< The result. */
    char* reason;   /**< One line if the result needs one, such as the name of a missing file; else "". */
    char* host;     /**< Address and port of the worker, or its rank; NULL: never dispatched. */
    char* hostname; /**< Name of the worker's machine; NULL: never dispatched. */

    char* category;                         /**< As specified, or "default". */
    category_allocation_t resource_request; /**< Always @ref CATEGORY_ALLOCATION_FIRST. */
    double priority;                        /**< As specified. */
    int max_retries;                        /**< As specified; below 1: no limit. */
    int try_count;                          /**< Number of attempts. */
    int exhausted_attempts;                 /**< Attempts that exceeded their allocation. */
    int fast_abort_count;                   /**< Not counted per task: 0. */

    timestamp_t time_when_submitted;             /**< us since 1970: it was submitted. */
    timestamp_t time_when_done;                  /**< us since 1970: its result and outputs arrived. */
    int disk_allocation_exhausted;               /**< Not used: 0. */
    int64_t min_running_time;                    /**< s, as specified. */
    timestamp_t time_when_commit_start;          /**< us since 1970: it was dispatched. */
    timestamp_t time_when_commit_end;            /**< us since 1970, by the worker's clock: it began. */
    timestamp_t time_when_retrieval;             /**< us since 1970, by the worker's clock: it ended. */
    timestamp_t time_workers_execute_last;       /**< us: its last attempt. */
    timestamp_t time_workers_execute_all;        /**< us: same as the last attempt. */
    timestamp_t time_workers_execute_exhaustion; /**< us: attempts that exhausted a resource. */
    timestamp_t time_workers_execute_failure;    /**< us: not counted, 0. */
    int64_t bytes_received;                      /**< Bytes of its output and its files. */
    int64_t bytes_sent;                          /**< Bytes of its files. */
    int64_t bytes_transferred;                   /**< Both together. */

    struct rmsummary* resources_allocated; /**< Its allocation. */
    struct rmsummary* resources_measured;  /**< Usage of its last attempt; without monitoring only times,
                                              memory and bytes of files, of its largest process. */
    struct rmsummary* resources_requested; /**< What was specified. */
    struct rmsummary* limits_exceeded; /**< Limits that it was killed for; resources_measured has them, too;
                                          NULL: none. */
    char* monitor_output_directory;    /**< As specified. */
    char* monitor_snapshot_file;       /**< As specified. */
    struct list* features;             /**< Not used: NULL. */
    char* coprocess;                   /**< As specified. */

    /** @name Other names
     * Of fields above. */
    /**@{*/
    timestamp_t time_task_submit;           /**< time_when_submitted */
    timestamp_t time_task_finish;           /**< time_when_done */
    timestamp_t time_committed;             /**< time_when_commit_start */
    timestamp_t time_send_input_start;      /**< time_when_commit_start */
    timestamp_t time_send_input_finish;     /**< time_when_commit_end */
    timestamp_t time_receive_result_start;  /**< time_when_retrieval */
    timestamp_t time_receive_result_finish; /**< time_when_done */
    timestamp_t time_receive_output_start;  /**< time_when_retrieval */
    timestamp_t time_receive_output_finish; /**< time_when_done */
    timestamp_t time_execute_cmd_start;     /**< time_when_commit_end */
    timestamp_t time_execute_cmd_finish;    /**< time_when_retrieval */
    timestamp_t total_transfer_time; /**< us: time from its dispatch to its arrival here, without its run. */
    timestamp_t cmd_execution_time;  /**< time_workers_execute_last */
    timestamp_t total_cmd_execution_time;         /**< time_workers_execute_all */
    timestamp_t total_cmd_exhausted_execute_time; /**< time_workers_execute_exhaustion */
    timestamp_t total_time_until_worker_failure;  /**< time_workers_execute_failure */
    int64_t total_bytes_received;                 /**< bytes_received */
    int64_t total_bytes_sent;                     /**< bytes_sent */
    int64_t total_bytes_transferred;              /**< bytes_transferred */
    int total_submissions;                        /**< try_count */
    timestamp_t time_app_delay; /**< us: from its arrival here to its return by work_queue_wait(). */
    /**@}*/
};

/** @name Tasks
 * Functions called with NULL, a deleted task or a task in a queue write one line to stderr, do nothing, and
 * return 0 or NULL if they return a value. They copy their arguments. */
/**@{*/

/** Creates a task that runs the shell line @p command; NULL: specify it with
 * work_queue_task_specify_command(). */
struct work_queue_task* work_queue_task_create(const char* command);

/** Creates a task with the settings of @p t, which may be in a queue. It has no id and no result. */
struct work_queue_task* work_queue_task_clone(const struct work_queue_task* t);

/** Deletes the task with all its strings. A task in a queue is not deleted, with a message: cancel it first.
 * NULL does nothing. */
void work_queue_task_delete(struct work_queue_task* t);

/** The shell line to run. */
void work_queue_task_specify_command(struct work_queue_task* t, const char* command);

/** A file or whole folder: @p local_name here, @p remote_name (a relative path without "..") in the task's
 * sandbox. An output is stored completely or not at all. In the local name of an input, `$OS` and `$ARCH` are
 * those of the worker. @p flags: any of work_queue_file_flags_t. 1, or 0 if a name is missing, invalid, or
 * used by another file of the task. */
int work_queue_task_specify_file(struct work_queue_task* t, const char* local_name, const char* remote_name,
                                 work_queue_file_type_t type, work_queue_file_flags_t flags);

/** Bytes @p start_byte to @p end_byte of the input @p local_name, inclusive, counted from 0; bytes past its
 * end are omitted. Otherwise like work_queue_task_specify_file(); outputs are refused. */
int work_queue_task_specify_file_piece(struct work_queue_task* t, const char* local_name,
                                       const char* remote_name, off_t start_byte, off_t end_byte,
                                       work_queue_file_type_t type, work_queue_file_flags_t flags);

/** @p length bytes at @p data as the input @p remote_name. Otherwise like work_queue_task_specify_file(). */
int work_queue_task_specify_buffer(struct work_queue_task* t, const char* data, int length,
                                   const char* remote_name, work_queue_file_flags_t flags);

/** A folder with its content. For an input with @p recursive 0, an empty folder; @p local_name may then be
 * NULL. Otherwise like work_queue_task_specify_file(). */
int work_queue_task_specify_directory(struct work_queue_task* t, const char* local_name,
                                      const char* remote_name, work_queue_file_type_t type,
                                      work_queue_file_flags_t flags, int recursive);

/** The worker fetches @p url as the input @p remote_name. If that fails, the result is
 * @ref WORK_QUEUE_RESULT_INPUT_MISSING. Otherwise like work_queue_task_specify_file(); outputs are refused.
 */
int work_queue_task_specify_url(struct work_queue_task* t, const char* url, const char* remote_name,
                                work_queue_file_type_t type, work_queue_file_flags_t flags);

/** The worker runs the shell line @p command to make the input @p remote_name: the file named `%%` in the
 * line or, without `%%`, its stdout. Otherwise like work_queue_task_specify_file(); outputs are refused. */
int work_queue_task_specify_file_command(struct work_queue_task* t, const char* command,
                                         const char* remote_name, work_queue_file_type_t type,
                                         work_queue_file_flags_t flags);

/** Retries after the worker was lost, after a fast abort (work_queue_activate_fast_abort()), or after the
 * task ran out of memory without a specified need: 5 means 6 attempts. Below 1 (default): no limit (out of
 * memory: no retry). A task that fails by itself is not retried. */
void work_queue_task_specify_max_retries(struct work_queue_task* t, int64_t max_retries);

/** Memory in MB of 2^20 bytes; below 0, the default: not specified. */
void work_queue_task_specify_memory(struct work_queue_task* t, int64_t memory);

/** Disk in MB of 2^20 bytes; below 0, the default: not specified. */
void work_queue_task_specify_disk(struct work_queue_task* t, int64_t disk);

/** Cores; below 0, the default: not specified. */
void work_queue_task_specify_cores(struct work_queue_task* t, int cores);

/** GPUs; below 0, the default: not specified, which is none. */
void work_queue_task_specify_gpus(struct work_queue_task* t, int gpus);

/** When it expires or is killed, in microseconds since 1970-01-01 UTC; 0 (default): never. */
void work_queue_task_specify_end_time(struct work_queue_task* t, int64_t useconds);

/** Earliest start, in microseconds since 1970-01-01 UTC; 0 (default): at once. */
void work_queue_task_specify_start_time_min(struct work_queue_task* t, int64_t useconds);

/** work_queue_task_specify_running_time_max() in microseconds, rounded up to seconds. */
void work_queue_task_specify_running_time(struct work_queue_task* t, int64_t useconds);

/** Kills it after this many seconds, with @ref WORK_QUEUE_RESULT_TASK_MAX_RUN_TIME; 0 (default): never. */
void work_queue_task_specify_running_time_max(struct work_queue_task* t, int64_t seconds);

/** It does not start on a worker that ends in fewer seconds; default 0. */
void work_queue_task_specify_running_time_min(struct work_queue_task* t, int64_t seconds);

/** Any text, for work_queue_wait_for_tag() and work_queue_cancel_by_tasktag(); NULL: none. */
void work_queue_task_specify_tag(struct work_queue_task* t, const char* tag);

/** Name for similar tasks, with common settings and statistics; NULL, the default: "default". */
void work_queue_task_specify_category(struct work_queue_task* t, const char* category);

/** It runs only on workers started with `--feature NAME`; may be repeated. */
void work_queue_task_specify_feature(struct work_queue_task* t, const char* name);

/** Tasks with higher priority start first, equal ones in order of submission; default 0. */
void work_queue_task_specify_priority(struct work_queue_task* t, double priority);

/** Sets a variable of the task's environment; a NULL @p value unsets it. */
void work_queue_task_specify_environment_variable(struct work_queue_task* t, const char* name,
                                                  const char* value);

/** Another spelling of work_queue_task_specify_environment_variable(). */
void work_queue_task_specify_enviroment_variable(struct work_queue_task* t, const char* name,
                                                 const char* value);

/** No effect: a task goes to whichever worker has room first. */
void work_queue_task_specify_algorithm(struct work_queue_task* t, work_queue_schedule_t algorithm);

/** Measures the task with all its processes and writes a JSON report wq-PID-task-ID.summary to @p folder
 * (PID: this process, ID: the task) before work_queue_wait() returns the task. work_queue_submit() creates
 * the folder; it refuses the task if the folder cannot be written. NULL (default): off. */
void work_queue_task_specify_monitor_output(struct work_queue_task* t, const char* folder);

/** Makes it a remote task: its command is the name of a function of the coprocess @p name, and its buffer
 * "infile" holds the arguments, a JSON object such as {"fn_args": [1, 2], "fn_kwargs": {},
 * "remote_task_exec_method": "fork"}. It runs on workers with that coprocess (work_queue_worker --coprocess),
 * and its output is {"Result": ..., "StatusCode": 200}, or 500 if the function failed. NULL: a command. */
void work_queue_task_specify_coprocess(struct work_queue_task* t, const char* name);

/** Measures the task, and takes a snapshot of its usage at each event that this JSON file describes: see
 * resources_measured->snapshots. Returns 1; 0: the task is in a queue, or the name is NULL. */
int work_queue_specify_snapshot_file(struct work_queue_task* t, const char* file);

/** How many bytes t->output has, of which some may be 0. (Not in CCTools.) */
size_t work_queue_task_output_size(const struct work_queue_task* t);

/** The name of a result, such as "SUCCESS" or "MAX_RETRIES"; "UNKNOWN" for other numbers. */
const char* work_queue_result_str(work_queue_result_t result);

/**@}*/

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

/** @file work_queue_task.h A task: what to run, what it needs, and what became of it. */
#ifndef WORK_QUEUE_TASK_H
#define WORK_QUEUE_TASK_H

#include <stdint.h>
#include <sys/types.h>

#include "rmsummary.h"
#include "timestamp.h"
#include "work_queue_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct list;

/** A task. It is made by work_queue_task_create(), specified by the functions below, and deleted by
 * work_queue_task_delete(). Its fields are to be read only; texts stay where they are until the task is
 * specified anew, submitted again or deleted. Those from `output` on say something once work_queue_wait() has
 * returned it. */
struct work_queue_task {
    char* tag;                                        /**< Any text of yours; NULL: none. */
    char* command_line;                               /**< What is run; NULL: nothing yet. */
    work_queue_schedule_t worker_selection_algorithm; /**< As specified. */
    char* output;              /**< What it wrote to stdout, and behind that, what it wrote to stderr. */
    struct list* input_files;  /**< Not used: NULL. */
    struct list* output_files; /**< Not used: NULL. */
    struct list* env_list;     /**< Not used: NULL. */
    int taskid;                /**< As work_queue_submit() returned it; 0: not submitted. */
    int return_status; /**< Exit code; with @ref WORK_QUEUE_RESULT_SIGNAL the signal; -1: it never ran. */
    int exit_status;   /**< The same. */
    work_queue_result_t result; /**< What became of it. */
    char* reason;   /**< One line where the result needs one, such as a missing file's name; else "". */
    char* host;     /**< Address and port of the worker, or its rank; NULL: none had it. */
    char* hostname; /**< Name of the worker's machine; NULL: none had it. */

    char* category;                         /**< As specified, or "default". */
    category_allocation_t resource_request; /**< Always @ref CATEGORY_ALLOCATION_FIRST. */
    double priority;                        /**< As specified. */
    int max_retries;                        /**< As specified; below 1: no limit. */
    int try_count;                          /**< How often it was given to a worker. */
    int exhausted_attempts;                 /**< How often it took more than it was given. */
    int fast_abort_count;                   /**< Not counted by task: 0. */

    timestamp_t time_when_submitted;             /**< us since 1970: work_queue_submit() took it. */
    timestamp_t time_when_done;                  /**< us since 1970: its result and outputs were here. */
    int disk_allocation_exhausted;               /**< Not used: 0. */
    int64_t min_running_time;                    /**< s, as specified. */
    timestamp_t time_when_commit_start;          /**< us since 1970: it was given to the worker. */
    timestamp_t time_when_commit_end;            /**< us since 1970, by the worker's clock: it began. */
    timestamp_t time_when_retrieval;             /**< us since 1970, by the worker's clock: it ended. */
    timestamp_t time_workers_execute_last;       /**< us: its last attempt. */
    timestamp_t time_workers_execute_all;        /**< us: as far as it is known, that of the last attempt. */
    timestamp_t time_workers_execute_exhaustion; /**< us: in attempts that exhausted a resource. */
    timestamp_t time_workers_execute_failure;    /**< us: not counted, 0. */
    int64_t bytes_received;                      /**< Bytes of its output. */
    int64_t bytes_sent;                          /**< Not counted by task: 0. */
    int64_t bytes_transferred;                   /**< Both together. */

    struct rmsummary* resources_allocated; /**< What it was given. */
    struct rmsummary* resources_measured; /**< What its last attempt used; without monitoring only times, memory
                                             and bytes of files, of its largest process. */
    struct rmsummary* resources_requested; /**< What was specified. */
    struct rmsummary* limits_exceeded;     /**< Those that it was ended for, which resources_measured has, too; NULL:
                                              none. */
    char* monitor_output_directory;        /**< As specified. */
    char* monitor_snapshot_file;           /**< As specified. */
    struct list* features;                 /**< Not used: NULL. */
    char* coprocess;                       /**< As specified. */

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
    timestamp_t
        total_transfer_time; /**< us: all but its run, from the worker's having it to its being here. */
    timestamp_t cmd_execution_time;               /**< time_workers_execute_last */
    timestamp_t total_cmd_execution_time;         /**< time_workers_execute_all */
    timestamp_t total_cmd_exhausted_execute_time; /**< time_workers_execute_exhaustion */
    timestamp_t total_time_until_worker_failure;  /**< time_workers_execute_failure */
    int64_t total_bytes_received;                 /**< bytes_received */
    int64_t total_bytes_sent;                     /**< bytes_sent */
    int64_t total_bytes_transferred;              /**< bytes_transferred */
    int total_submissions;                        /**< try_count */
    timestamp_t time_app_delay; /**< us: from its being here to its return by work_queue_wait(). */
    /**@}*/
};

/** @name Tasks
 * Functions that get NULL, a task that was deleted, or one that is in a queue, say so on stderr in one line
 * and do nothing else; those with a value return 0 or NULL. What they are given is copied. */
/**@{*/

/** A task that runs the shell line @p command; NULL: work_queue_task_specify_command() will say it. */
struct work_queue_task* work_queue_task_create(const char* command);

/** A task that is specified as @p t is, which may be in a queue. It has no id and no result. */
struct work_queue_task* work_queue_task_clone(const struct work_queue_task* t);

/** Deletes the task with all its texts. One that is in a queue stays there, with a message: cancel it before.
 * NULL does nothing. */
void work_queue_task_delete(struct work_queue_task* t);

/** The shell line to be run. */
void work_queue_task_specify_command(struct work_queue_task* t, const char* command);

/** A file, or a folder with all in it, that is called @p local_name here and @p remote_name in the task's
 * sandbox: a relative path without "..". An output comes complete, or not at all. In the local name of an
 * input, `$OS` and
 * `$ARCH` are those of the worker. @p type: which way; @p flags: any of work_queue_file_flags_t. 1, or 0
 * where a name is missing or cannot be used, or another file of the task has it. */
int work_queue_task_specify_file(struct work_queue_task* t, const char* local_name, const char* remote_name,
                                 work_queue_file_type_t type, work_queue_file_flags_t flags);

/** The bytes @p start_byte to @p end_byte, both included, from 0, of the input @p local_name. What lies
 * behind its end is left out. As work_queue_task_specify_file() otherwise; outputs are refused. */
int work_queue_task_specify_file_piece(struct work_queue_task* t, const char* local_name,
                                       const char* remote_name, off_t start_byte, off_t end_byte,
                                       work_queue_file_type_t type, work_queue_file_flags_t flags);

/** @p length bytes from @p data on as the input @p remote_name. As work_queue_task_specify_file() otherwise.
 */
int work_queue_task_specify_buffer(struct work_queue_task* t, const char* data, int length,
                                   const char* remote_name, work_queue_file_flags_t flags);

/** A folder. An input with @p recursive 0 is an empty one, of that name, and @p local_name may be NULL; else,
 * and of outputs, it is one with all in it. As work_queue_task_specify_file() otherwise. */
int work_queue_task_specify_directory(struct work_queue_task* t, const char* local_name,
                                      const char* remote_name, work_queue_file_type_t type,
                                      work_queue_file_flags_t flags, int recursive);

/** What the worker fetches from @p url, as the input @p remote_name. An answer that is an error ends the task
 * with
 * @ref WORK_QUEUE_RESULT_INPUT_MISSING. As work_queue_task_specify_file() otherwise; outputs are refused. */
int work_queue_task_specify_url(struct work_queue_task* t, const char* url, const char* remote_name,
                                work_queue_file_type_t type, work_queue_file_flags_t flags);

/** What the worker makes by the shell line @p command, as the input @p remote_name: the file that it writes
 * where `%%` stands in the line, or without one, its stdout. As work_queue_task_specify_file() otherwise;
 * outputs are refused. */
int work_queue_task_specify_file_command(struct work_queue_task* t, const char* command,
                                         const char* remote_name, work_queue_file_type_t type,
                                         work_queue_file_flags_t flags);

/** How often it may run again because its worker was lost, it took too long
 * (work_queue_activate_fast_abort()), or it ran out of memory without having said how much it needs: 5 are 6
 * tries. Below 1, the default: no limit (out of memory: never). A task that fails by itself is not run again.
 */
void work_queue_task_specify_max_retries(struct work_queue_task* t, int64_t max_retries);

/** Memory in MB of 2^20 bytes; below 0, the default: not specified. */
void work_queue_task_specify_memory(struct work_queue_task* t, int64_t memory);

/** Disk in MB of 2^20 bytes; below 0, the default: not specified. */
void work_queue_task_specify_disk(struct work_queue_task* t, int64_t disk);

/** Cores; below 0, the default: not specified. */
void work_queue_task_specify_cores(struct work_queue_task* t, int cores);

/** GPUs; below 0, the default: not specified, which is none. */
void work_queue_task_specify_gpus(struct work_queue_task* t, int gpus);

/** When it expires, or is killed: microseconds since 1970-01-01 UTC; 0, the default: never. */
void work_queue_task_specify_end_time(struct work_queue_task* t, int64_t useconds);

/** It does not start earlier: microseconds since 1970-01-01 UTC; 0, the default: at once. */
void work_queue_task_specify_start_time_min(struct work_queue_task* t, int64_t useconds);

/** As work_queue_task_specify_running_time_max(), in microseconds, rounded up to seconds. */
void work_queue_task_specify_running_time(struct work_queue_task* t, int64_t useconds);

/** It is killed after so many seconds, with @ref WORK_QUEUE_RESULT_TASK_MAX_RUN_TIME; 0, the default: never.
 */
void work_queue_task_specify_running_time_max(struct work_queue_task* t, int64_t seconds);

/** It is not started on a worker that ends in fewer seconds; 0 by default. */
void work_queue_task_specify_running_time_min(struct work_queue_task* t, int64_t seconds);

/** Any text of yours, for work_queue_wait_for_tag() and work_queue_cancel_by_tasktag(); NULL: none. */
void work_queue_task_specify_tag(struct work_queue_task* t, const char* tag);

/** What tasks are alike, with figures and settings of their own; NULL, and by default: "default". */
void work_queue_task_specify_category(struct work_queue_task* t, const char* category);

/** It runs only on workers that were started with `--feature NAME`; may be called for several. */
void work_queue_task_specify_feature(struct work_queue_task* t, const char* name);

/** Higher ones start first; 0 by default; equals in the order of their submission. */
void work_queue_task_specify_priority(struct work_queue_task* t, double priority);

/** In the task's environment; a @p value of NULL takes the variable out of it. */
void work_queue_task_specify_environment_variable(struct work_queue_task* t, const char* name,
                                                  const char* value);

/** Another spelling of work_queue_task_specify_environment_variable(). */
void work_queue_task_specify_enviroment_variable(struct work_queue_task* t, const char* name,
                                                 const char* value);

/** Kept in the task, and has no effect: a task goes to whichever worker has room first. */
void work_queue_task_specify_algorithm(struct work_queue_task* t, work_queue_schedule_t algorithm);

/** What the task uses, with all its processes, is measured and written to wq-PID-task-ID.summary in @p
 * folder, as JSON (PID: of this process, ID: the task's); it is there when work_queue_wait() returns the
 * task. work_queue_submit() makes the folder, and refuses the task where it cannot be written. NULL, and by
 * default: no. */
void work_queue_task_specify_monitor_output(struct work_queue_task* t, const char* folder);

/** Kept in the task; such a task is refused by work_queue_submit() yet. NULL: none. */
void work_queue_task_specify_coprocess(struct work_queue_task* t, const char* name);

/** Kept in the task, and has no effect yet: 0. */
int work_queue_specify_snapshot_file(struct work_queue_task* t, const char* file);

/** The name of a result, as "SUCCESS" or "MAX_RETRIES"; "UNKNOWN" for other numbers. */
const char* work_queue_result_str(work_queue_result_t result);

/**@}*/

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

/** @file work_queue_deprecated.h Older names, for programs that use them. */
#ifndef WORK_QUEUE_DEPRECATED_H
#define WORK_QUEUE_DEPRECATED_H

#ifdef SWIG
%include "work_queue_task.h"
#else
#include "work_queue_task.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct work_queue;

/** @name Older names of functions */
/**@{*/
#define work_queue_master_preferred_connection \
    work_queue_manager_preferred_connection /**< @ref work_queue_manager_preferred_connection */
#define work_queue_specify_master_mode \
    work_queue_specify_manager_mode                    /**< @ref work_queue_specify_manager_mode */
#define work_queue_blacklist_add work_queue_block_host /**< @ref work_queue_block_host */
#define work_queue_blacklist_add_with_timeout \
    work_queue_block_host_with_timeout                      /**< @ref work_queue_block_host_with_timeout */
#define work_queue_blacklist_remove work_queue_unblock_host /**< @ref work_queue_unblock_host */
#define work_queue_blacklist_clear work_queue_unblock_all   /**< @ref work_queue_unblock_all */
/**@}*/

/** @name Older functions */
/**@{*/

#define WORK_QUEUE_TASK_ORDER_FIFO 0 /**< Of work_queue_specify_task_order(). */
#define WORK_QUEUE_TASK_ORDER_LIFO 1 /**< Of work_queue_specify_task_order(). */

/** Does nothing: tasks start by priority, equal ones in order of submission. */
void work_queue_specify_task_order(struct work_queue* q, int order);

#define WORK_QUEUE_MANAGER_MODE_STANDALONE 0 /**< Of work_queue_specify_manager_mode(). */
#define WORK_QUEUE_MANAGER_MODE_CATALOG 1    /**< Of work_queue_specify_manager_mode(). */
#define WORK_QUEUE_MASTER_MODE_STANDALONE 0  /**< Of work_queue_specify_manager_mode(). */
#define WORK_QUEUE_MASTER_MODE_CATALOG 1     /**< Of work_queue_specify_manager_mode(). */

/** Does nothing: a queue with a name is listed. */
void work_queue_specify_manager_mode(struct work_queue* q, int mode);

/** Does nothing: the capacity is always estimated. */
void work_queue_specify_estimate_capacity_on(struct work_queue* q, int on);

/** work_queue_task_specify_buffer(), not cached. */
int work_queue_task_specify_input_buf(struct work_queue_task* t, const char* data, int length,
                                      const char* remote_name);

/** work_queue_task_specify_file() for an input that is cached. */
int work_queue_task_specify_input_file(struct work_queue_task* t, const char* local_name,
                                       const char* remote_name);

/** work_queue_task_specify_file() for an input that is not cached. */
int work_queue_task_specify_input_file_do_not_cache(struct work_queue_task* t, const char* local_name,
                                                    const char* remote_name);

/** work_queue_task_specify_file() for an output; here the remote name comes first. */
int work_queue_task_specify_output_file(struct work_queue_task* t, const char* remote_name,
                                        const char* local_name);

/** The same. */
int work_queue_task_specify_output_file_do_not_cache(struct work_queue_task* t, const char* remote_name,
                                                     const char* local_name);

/** Returns a file name in @p folder for this task, to be freed. NULL for NULL. */
char* work_queue_generate_disk_alloc_full_filename(char* folder, int taskid);

/** Ignored. */
extern int wq_option_scheduler;

/**@}*/

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

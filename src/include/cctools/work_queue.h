/** @file work_queue.h A manager in C: it takes tasks from your program, dispatches them to workers, and
 * returns each task when it has ended.
 *
 *      struct work_queue *q = work_queue_create(0);
 *      struct work_queue_task *t = work_queue_task_create("gzip < in > out");
 *      work_queue_task_specify_file(t, "letter", "in", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE);
 *      work_queue_task_specify_file(t, "letter.gz", "out", WORK_QUEUE_OUTPUT, WORK_QUEUE_NOCACHE);
 *      work_queue_submit(q, t);
 *      while (!work_queue_empty(q)) {
 *          t = work_queue_wait(q, 5);
 *          if (!t) continue;
 *          printf("%s: %s\n", t->command_line, work_queue_result_str(t->result));
 *          work_queue_task_delete(t);
 *      }
 *      work_queue_delete(q);
 *
 * Start workers with `work_queue_worker HOST PORT`. work_queue_create() opens the port, but workers are
 * served from the first call for results or statistics, usually work_queue_wait(). Specify passwords, names
 * and logs before that call, in any order with tasks, so that they hold for all workers; a contact file is
 * refused later. From then on the queue has its own thread and serves workers while your program computes.
 *
 * A function that fails writes one line to stderr and returns 0 or NULL. Use a queue and its tasks in one
 * thread of your program at a time. */
#ifndef WORK_QUEUE_H
#define WORK_QUEUE_H

#include <sys/types.h>
#include <time.h>

#ifdef SWIG
%include "category.h"
%include "rmsummary.h"
%include "timestamp.h"
%include "work_queue_settings.h"
%include "work_queue_stats.h"
%include "work_queue_task.h"
%include "work_queue_types.h"
#else
#include "category.h"
#include "rmsummary.h"
#include "timestamp.h"
#include "work_queue_settings.h"
#include "work_queue_stats.h"
#include "work_queue_task.h"
#include "work_queue_types.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** A queue of tasks, with its workers. */
struct work_queue;

/** @name Queues */
/**@{*/

/** Creates a queue whose workers connect to @p port. 0 or less ( @ref WORK_QUEUE_RANDOM_PORT ): the
 * environment's `WORK_QUEUE_PORT` if set, else the first free port from `WORK_QUEUE_LOW_PORT` to
 * `WORK_QUEUE_HIGH_PORT` (1024 and 32767 for one that is not set; if neither is, from a random port on).
 * NULL, with errno, if the port is not available. */
struct work_queue* work_queue_create(int port);

/** Like work_queue_create(), with TLS for every connection, using the key and certificate in two PEM files;
 * start workers with `--ssl`. Both NULL: no TLS. */
struct work_queue* work_queue_ssl_create(int port, const char* key, const char* certificate);

/** Ends the queue; the end of the process does the same. Running tasks are killed; workers look for another
 * manager. Its factories (work_queue_factory.h) stop first. You still own the tasks in the queue: you may
 * delete them or submit them elsewhere. NULL does nothing. */
void work_queue_delete(struct work_queue* q);

/** The port for workers; 0: none. */
int work_queue_port(struct work_queue* q);

/** The name by which `work_queue_worker -M NAME` finds this queue; NULL: none. */
const char* work_queue_name(struct work_queue* q);

/**@}*/
/** @name Tasks of a queue */
/**@{*/

/** Submits the task. The queue has it until work_queue_wait() or a cancel function returns it. Returns its
 * id, from 1. Returns 0 if the task cannot run: it is already in a queue, it has no command, its files
 * conflict, a file name was refused, or the queue cannot work. You may submit a returned task again; it gets
 * a new id. */
int work_queue_submit(struct work_queue* q, struct work_queue_task* t);

/** New ids are at least @p id from now on. Returns the next id. (Logs still count from 1.) */
int work_queue_specify_min_taskid(struct work_queue* q, int id);

/** Returns the next ended task, as the submitted pointer. NULL after @p timeout seconds, even if the queue
 * has no task. @ref WORK_QUEUE_WAITFORTASK : no limit, and NULL at once if there is no task; 0 means 1 s,
 * other negative numbers 5 s. */
struct work_queue_task* work_queue_wait(struct work_queue* q, int timeout);

/** The same for tasks with this tag (NULL: all tasks); others stay for other calls. */
struct work_queue_task* work_queue_wait_for_tag(struct work_queue* q, const char* tag, int timeout);

/** work_queue_wait_for_tag() with a limit in milliseconds; 0 or less: does not wait. NULL at once if there is
 * no such task. For languages that run signal handlers only between calls. (Not in CCTools.) */
struct work_queue_task* work_queue_wait_at_most(struct work_queue* q, const char* tag, int milliseconds);

/** With work_queue_tune(q, "wait-retrieve-many", 1), waits as work_queue_wait() does until all tasks have
 * ended. 0: some have not within this time. Otherwise 1 at once. For the same languages. (Not in CCTools.) */
int work_queue_gather(struct work_queue* q, int milliseconds);

/** How many more tasks would keep all workers busy; 0: enough. */
int work_queue_hungry(struct work_queue* q);

/** 1 if no task is left: none waits, runs, or has a result for work_queue_wait(); else 0. */
int work_queue_empty(struct work_queue* q);

/** The state of the task with this id. */
work_queue_task_state_t work_queue_task_state(struct work_queue* q, int taskid);

/** Cancels the task in any state and returns it at once; a running task is killed. NULL: no task with this
 * id. */
struct work_queue_task* work_queue_cancel_by_taskid(struct work_queue* q, int id);

/** The same for one task with this tag (NULL: without a tag); call again for the next. NULL: none left. */
struct work_queue_task* work_queue_cancel_by_tasktag(struct work_queue* q, const char* tag);

/** The same for all tasks; returns a list (list.h) to delete with list_delete(). NULL: no queue. */
struct list* work_queue_cancel_all_tasks(struct work_queue* q);

/**@}*/
/** @name Workers */
/**@{*/

/** Asks @p n workers (0: all) to end, idle ones first. They finish their running tasks. Returns the number
 * asked. */
int work_queue_shut_down_workers(struct work_queue* q, int n);

/** If @p drain is not 0, workers of this host get no more tasks, and end when they have none. If it is 0,
 * they get tasks again. Returns the number of workers of this host. */
int work_queue_specify_draining_by_hostname(struct work_queue* q, const char* hostname, int drain);

/** Workers of this host get no more tasks; they finish their running tasks. */
void work_queue_block_host(struct work_queue* q, const char* hostname);

/** The same for @p seconds; below 1: until it is unblocked. */
void work_queue_block_host_with_timeout(struct work_queue* q, const char* hostname, time_t seconds);

/** Workers of this host get tasks again. */
void work_queue_unblock_host(struct work_queue* q, const char* hostname);

/** Workers of all hosts get tasks again. */
void work_queue_unblock_all(struct work_queue* q);

/** Does nothing: workers cache inputs by content, so a changed file is a different input. */
void work_queue_invalidate_cached_file(struct work_queue* q, const char* local_name, work_queue_file_t type);

/**@}*/

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#ifdef SWIG
%include "work_queue_deprecated.h"
#else
#include "work_queue_deprecated.h"
#endif

#endif

/** @file work_queue.h A manager in C: it takes tasks from your program, keeps workers busy with them, and
 * gives each back when it has ended.
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
 * Workers are started by `work_queue_worker HOST PORT`. The port is taken by work_queue_create(), and
 * workers may connect from then on; they are served from the first call that asks for results or figures,
 * work_queue_wait() mostly. Until then passwords, names and logs may be specified, in any order with tasks;
 * later they are refused. Once it serves, the queue does so on a thread of its own, also while your program
 * computes.
 *
 * What is wrong is said on stderr in one line; the function then returns 0 or NULL. A queue and its tasks
 * are for one thread of your program at a time. */
#ifndef WORK_QUEUE_H
#define WORK_QUEUE_H

#include <sys/types.h>
#include <time.h>

#include "category.h"
#include "rmsummary.h"
#include "timestamp.h"
#include "work_queue_settings.h"
#include "work_queue_stats.h"
#include "work_queue_task.h"
#include "work_queue_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** A queue of tasks, with its workers. */
struct work_queue;

/** @name Queues */
/**@{*/

/** A queue whose workers connect to @p port; 0 or less, @ref WORK_QUEUE_RANDOM_PORT : to `WORK_QUEUE_PORT` of
 * the environment where that is set, else to the first free one from `WORK_QUEUE_LOW_PORT` (1024) to
 * `WORK_QUEUE_HIGH_PORT` (32767). NULL, with errno, where it cannot be had. */
struct work_queue* work_queue_create(int port);

/** The same, with TLS for every connection, by the key and the certificate in two PEM files; both NULL: by a
 * certificate of its own. Workers are started with `--ssl`. */
struct work_queue* work_queue_ssl_create(int port, const char* key, const char* certificate);

/** Ends the queue, as the end of the process does. What runs is killed; workers look for another manager.
 * Tasks that it still has stay yours, to be deleted or submitted elsewhere. NULL does nothing. */
void work_queue_delete(struct work_queue* q);

/** The port that workers connect to; 0: there is none. */
int work_queue_port(struct work_queue* q);

/** The name by which `work_queue_worker -M NAME` finds this queue; NULL: none. */
const char* work_queue_name(struct work_queue* q);

/**@}*/
/** @name Tasks of a queue */
/**@{*/

/** Hands the task to the queue, which has it until work_queue_wait() or a cancelling function returns it.
 * Returns its id, from 1; 0 where it cannot be run: it is in a queue already, it has no command, its files
 * contradict each other, one was refused for its name, or the queue cannot work. A task that came back may be
 * submitted again, with a new id. */
int work_queue_submit(struct work_queue* q, struct work_queue_task* t);

/** Ids are at least @p id from now on. Returns the next one. (Logs count from 1 all the same.) */
int work_queue_specify_min_taskid(struct work_queue* q, int id);

/** The next task that has ended: the pointer that was submitted. NULL when @p timeout seconds are over, also
 * where the queue has no task. @ref WORK_QUEUE_WAITFORTASK : as long as it takes, and at once where there is
 * none; 0: 1 s; other negative ones: 5 s. */
struct work_queue_task* work_queue_wait(struct work_queue* q, int timeout);

/** The same for tasks of one tag; others stay for other calls. NULL: for all. */
struct work_queue_task* work_queue_wait_for_tag(struct work_queue* q, const char* tag, int timeout);

/** How many more tasks the queue wants, so that no worker runs dry; 0: it has enough. */
int work_queue_hungry(struct work_queue* q);

/** 1: it has no task, neither running or waiting, nor one that work_queue_wait() would return; else 0. */
int work_queue_empty(struct work_queue* q);

/** Where the task of this id is. */
work_queue_task_state_t work_queue_task_state(struct work_queue* q, int taskid);

/** Takes the task back at once, whatever it does; what runs is killed. NULL: the queue has none of this id.
 */
struct work_queue_task* work_queue_cancel_by_taskid(struct work_queue* q, int id);

/** The same for one task of this tag (NULL: one without a tag); call again for the next. NULL: there is none.
 */
struct work_queue_task* work_queue_cancel_by_tasktag(struct work_queue* q, const char* tag);

/** The same for all: a list of them (list.h), to be deleted by list_delete(). NULL: no queue. */
struct list* work_queue_cancel_all_tasks(struct work_queue* q);

/**@}*/
/** @name Workers */
/**@{*/

/** Asks @p n workers to end, idle ones first; what they run they finish. 0: all. Returns how many were asked.
 */
int work_queue_shut_down_workers(struct work_queue* q, int n);

/** With @p drain not 0, workers of this host get no more tasks, and end when they have none; with 0 they do
 * again. Returns how many workers there are of it. */
int work_queue_specify_draining_by_hostname(struct work_queue* q, const char* hostname, int drain);

/** Workers of this host get no more tasks; what they run they finish. */
void work_queue_block_host(struct work_queue* q, const char* hostname);

/** The same for so many seconds; below 1: for good. */
void work_queue_block_host_with_timeout(struct work_queue* q, const char* hostname, time_t seconds);

/** Workers of this host get tasks again. */
void work_queue_unblock_host(struct work_queue* q, const char* hostname);

/** Workers of all hosts get tasks again. */
void work_queue_unblock_all(struct work_queue* q);

/** Nothing is to be done: inputs are kept by their content, so a file that was changed is another one. */
void work_queue_invalidate_cached_file(struct work_queue* q, const char* local_name, work_queue_file_t type);

/**@}*/

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include "work_queue_deprecated.h"

#endif

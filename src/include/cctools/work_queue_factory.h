/** @file work_queue_factory.h A factory: submits workers to a batch system while it runs, as many as a queue
 * has tasks for.
 *
 *      struct work_queue *q = work_queue_create(WORK_QUEUE_RANDOM_PORT);
 *      struct work_queue_factory *workers = work_queue_factory_create(q, "slurm");
 *      work_queue_factory_specify(workers, "max-workers", "20");
 *      work_queue_factory_specify(workers, "cores", "4");
 *      work_queue_factory_start(workers);
 *      ... submit tasks, and wait for them ...
 *      work_queue_factory_delete(workers);
 *      work_queue_delete(q);
 *
 * It runs the program work_queue_factory, found beside the library or in PATH, as a child process that ends
 * with your program. Its messages go to stderr. CCTools has no such functions. */
#ifndef WORK_QUEUE_FACTORY_H
#define WORK_QUEUE_FACTORY_H

#include <stdint.h>

#ifdef SWIG
%include "work_queue.h"
#else
#include "work_queue.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** A factory of a queue's workers. */
struct work_queue_factory;

/** A factory's last look at tasks and workers. */
struct work_queue_factory_report {
    int64_t tasks_waiting;     /**< Tasks that wait for a worker. */
    int64_t tasks_on_workers;  /**< Tasks that workers have. */
    int64_t tasks_unfit;       /**< Tasks that no worker of this size can run. */
    int64_t workers_wanted;    /**< Workers that this factory should have. */
    int64_t workers_connected; /**< Its workers that are connected to the queue. */
    int64_t workers_starting;  /**< Its jobs that run, with their worker not yet connected. */
    int64_t workers_pending;   /**< Its jobs that wait in the batch system. */
    char held[256];            /**< Why it submits none although some are missing; "": no reason. */
};

/** Creates a factory for a queue that accepts workers on a port; it starts nothing.
 * @p q may be NULL: then specify "manager-host-port" ("HOST:PORT") or "manager-name". @p batch_type: slurm,
 * condor, pbs, torque, uge, lsf, local (processes of this machine), or the path of a driver. NULL: the queue
 * has no port, or @p batch_type is missing. A queue may have several factories, each with its own
 * "scratch-dir". */
struct work_queue_factory* work_queue_factory_create(struct work_queue* q, const char* batch_type);

/** Sets an option of work_queue_factory by its name, without hyphens before it, to a text as on its command
 * line. Returns 1; 0: unknown name, bad value, too late, or the settings cannot be written.
 *
 * While the factory runs it uses these from its next look at the queue, at most one "cycle" later:
 * - counts: "min-workers" (5), "max-workers" (100), "workers-per-cycle" (5; 0: no limit), "tasks-per-worker"
 *   (0: what fits). The factory never wants more than "max-workers", even if "min-workers" is larger.
 * - size of each worker that it submits, 0 for what the batch system gives: "cores", "gpus" (counts),
 *   "memory", "disk" ("500": MB of 2^20 bytes; "4G")
 * - times (seconds, or "15m"): "timeout" (5m: an idle worker leaves), "factory-timeout" (0: never; else the
 *   factory ends when the queue had no task for it)
 * - "true" or "false": "capacity" (no more workers than the queue can keep busy), "autosize" (whole slots of
 *   HTCondor); both false
 * - texts, NULL or "" for none: "worker-extra-options", "condor-requirements"
 *
 * These only while it does not run; NULL or "" restores the default:
 * - "scratch-dir" (a folder for scripts, logs and settings that the nodes see; ./wq-factory-UID),
 *   "factory-name", "worker-binary"
 * - "batch-options", "wall-time", "worker-start-cmd", "wrapper", "task-wrapper", "cycle" (30 s),
 *   "status-interval" (60 s)
 * - "feature" and "env" ("NAME=VALUE"); each call adds one */
int work_queue_factory_specify(struct work_queue_factory* f, const char* name, const char* value);

/** Starts the factory, and the queue, as work_queue_wait() does: specify the queue's password and name
 * before. Returns 1, also if it runs; 0: no program work_queue_factory, the folder cannot be written, the
 * queue cannot begin, or was deleted, or the program ends at once, for an unknown batch system for example.
 * What goes wrong later ends the factory with a line on stderr. A stopped factory can start again. */
int work_queue_factory_start(struct work_queue_factory* f);

/** Stops the factory: its jobs are removed, and its workers end; the queue requeues their tasks. Waits for
 * that, at most 30 s. Does nothing if it does not run. */
void work_queue_factory_stop(struct work_queue_factory* f);

/** Returns 1 if the factory runs; 0: not started, stopped, or ended by itself. */
int work_queue_factory_running(struct work_queue_factory* f);

/** Copies the last report since its last start. Returns 1; 0: there is none yet, and all fields are 0. */
int work_queue_factory_get_report(struct work_queue_factory* f, struct work_queue_factory_report* report);

/** Stops the factory and deletes it. NULL does nothing. work_queue_delete() and the end of the process also
 * stop it; after work_queue_delete() you still own the factory, but it cannot start again. */
void work_queue_factory_delete(struct work_queue_factory* f);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

/** @file work_queue_settings.h How a queue works: who may join it, its logs, its limits, and what it knows of
 * categories. */
#ifndef WORK_QUEUE_SETTINGS_H
#define WORK_QUEUE_SETTINGS_H

#include "rmsummary.h"
#include "work_queue_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct work_queue;

/** @name Who may work
 * Before the queue serves its workers; without any of these it is open to everybody who can reach its port.
 */
/**@{*/

/** Workers are to prove that they know this password. */
void work_queue_specify_password(struct work_queue* q, const char* password);

/** The same with the content of a file, verbatim, with its newline: `work_queue_worker --password FILE`. 1,
 * or 0 where it cannot be read. */
int work_queue_specify_password_file(struct work_queue* q, const char* file);

/** Writes a file of mode 0600 with addresses, port, a random key and the print of a certificate; who can read
 * it may work, over TLS: `work_queue_worker --contact FILE`. It is there once the queue serves, and removed
 * when the queue is deleted. 1, or 0 where the name is missing. (CCTools has no such function.) */
int work_queue_specify_contact_file(struct work_queue* q, const char* file);

/** The name by which `work_queue_worker -M NAME` finds this queue. NULL: none. */
void work_queue_specify_name(struct work_queue* q, const char* name);

/**@}*/
/** @name Logs
 * Before the queue serves its workers. 1, or 0 where the file cannot be written. */
/**@{*/

/** A time series of the queue's figures; as HDF5 where the name ends in .h5. */
int work_queue_specify_log(struct work_queue* q, const char* file);

/** The life of each task and worker, a line each time. */
int work_queue_specify_transactions_log(struct work_queue* q, const char* file);

/**@}*/
/** @name Limits */
/**@{*/

/** Sets the parameter called @p name, as "hungry-minimum"; share/doc/managers.md has them all. 0, or -1 where
 * there is none of this name or the value is out of its bounds. */
int work_queue_tune(struct work_queue* q, const char* name, double value);

/** Seconds without a word after which a worker is asked; 30 by default; 0: workers are never lost by their
 * silence. None is before 90 s of it. */
void work_queue_specify_keepalive_interval(struct work_queue* q, int interval);

/** Seconds to wait for the answer; 60 by default. */
void work_queue_specify_keepalive_timeout(struct work_queue* q, int timeout);

/** A task that runs for more than @p multiplier times the mean of its category, of which 10 have succeeded,
 * is killed and runs again, on another host where there is one; each time it may take twice as long as
 * before. Below 1, the default: none is. Returns 0 where it is switched on now, 1 where it is off. */
int work_queue_activate_fast_abort(struct work_queue* q, double multiplier);

/** The same for the tasks of one category, instead of what holds for all. 0: none of them is; 1 or more: so
 * many times the mean; everything else: as for all. */
int work_queue_activate_fast_abort_category(struct work_queue* q, const char* category, double multiplier);

/**@}*/
/** @name What tasks get, by their category
 * What a task specifies itself is its own; the rest is as its category says. Specified again, it replaces
 * what was specified before; NULL for a category is "default", but for work_queue_specify_category_mode(),
 * and NULL for resources specifies none of them. An amount that is none, and a name that there is not, are
 * refused, with a message. share/doc/resources.md has the rules. */
/**@{*/

/** What each task of the category asks for; where its mode is not fixed, the most that it is given. */
void work_queue_specify_category_max_resources(struct work_queue* q, const char* category,
                                               const struct rmsummary* rm);

/** What no task of the category is given less than. */
void work_queue_specify_category_min_resources(struct work_queue* q, const char* category,
                                               const struct rmsummary* rm);

/** What its tasks are tried with while too few of them were measured, where its mode is not fixed; else they
 * are tried with the maximum, or a whole worker. */
void work_queue_specify_category_first_allocation_guess(struct work_queue* q, const char* category,
                                                        const struct rmsummary* rm);

/** work_queue_specify_category_max_resources() of the category "default". */
void work_queue_specify_max_resources(struct work_queue* q, const struct rmsummary* rm);

/** work_queue_specify_category_min_resources() of the category "default". */
void work_queue_specify_min_resources(struct work_queue* q, const struct rmsummary* rm);

/** How what its tasks get is found; NULL: of all categories of which nothing was specified and no task was
 * submitted so far. Modes but fixed need work_queue_enable_monitoring(). 1, or 0 where there is no such
 * mode. */
int work_queue_specify_category_mode(struct work_queue* q, const char* category,
                                     work_queue_category_mode_t mode);

/** How many of its tasks may run at once; 0: none; below 0, the default: as many as there is room for. */
void work_queue_specify_category_max_concurrent(struct work_queue* q, const char* category,
                                                int max_concurrent);

/** Whether a mode but fixed finds an amount of @p resource: "cores", "memory" and "disk" by default; of
 * "gpus" nothing is measured. 1, or 0 where there is no such resource. */
int work_queue_enable_category_resource(struct work_queue* q, const char* category, const char* resource,
                                        int autolabel);

/** Begins with what an earlier run has measured, as work_queue_enable_monitoring() wrote it to
 * FOLDER/wq-PID.summaries; all categories that are known then get the maximum @p max, unless it specifies
 * nothing. A file that cannot be read is refused, with a message. */
void work_queue_initialize_categories(struct work_queue* q, struct rmsummary* max,
                                      const char* summaries_file);

/**@}*/
/** @name Monitoring */
/**@{*/

/** What tasks that start from now on use, with all their processes, is measured, and is in their
 * resources_measured. With @p watchdog not 0 they are held to what they are given: one that takes more is
 * ended, with @ref WORK_QUEUE_RESULT_RESOURCE_EXHAUSTION where its category gives it no more. (So it is in
 * CCTools; the text of its manual has it the other way round.) Without monitoring nothing holds tasks to it.
 * With a @p folder, which is made where it is not there, each task that ran has a file
 * wq-PID-task-ID.summary there when work_queue_wait() returns it, and all are in wq-PID.summaries; NULL: no
 * files. 1, or 0 where the folder cannot be written. */
int work_queue_enable_monitoring(struct work_queue* q, char* folder, int watchdog);

/** The same: a time series of each task is not kept. */
int work_queue_enable_monitoring_full(struct work_queue* q, char* folder, int watchdog);

/**@}*/
/** @name No effect yet
 * These are taken, and say once on stderr that they do nothing. */
/**@{*/

/** Bytes a second for all transfers, as "100M". */
void work_queue_set_bandwidth_limit(struct work_queue* q, const char* bandwidth);
/** How workers are chosen. */
void work_queue_specify_algorithm(struct work_queue* q, work_queue_schedule_t algorithm);
/** Where the queue is listed. */
void work_queue_specify_catalog_server(struct work_queue* q, const char* hostname, int port);
/** Where the queue is listed: "HOST:PORT,HOST:PORT". */
void work_queue_specify_catalog_servers(struct work_queue* q, const char* hosts);
/** How important the queue is to those who read the list. */
void work_queue_specify_priority(struct work_queue* q, int priority);
/** How many tasks are still to be submitted, for who starts workers. */
void work_queue_specify_num_tasks_left(struct work_queue* q, int ntasks);
/** Which of its addresses workers try first: "by_ip", "by_hostname" or "by_apparent_ip". */
void work_queue_manager_preferred_connection(struct work_queue* q, const char* preferred_connection);
/** For a log server. */
void work_queue_specify_debug_path(struct work_queue* q, const char* path);
/** For a log server. */
void work_queue_specify_tlq_port(struct work_queue* q, int port);

/**@}*/

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

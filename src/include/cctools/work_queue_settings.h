/** @file work_queue_settings.h Settings of a queue: who may join it, its logs, limits and categories. */
#ifndef WORK_QUEUE_SETTINGS_H
#define WORK_QUEUE_SETTINGS_H

#ifdef SWIG
%include "rmsummary.h"
%include "work_queue_types.h"
#else
#include "rmsummary.h"
#include "work_queue_types.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct work_queue;

/** @name Who may work
 * Call these before the queue serves workers. Without any of them, everybody who can reach its port may join.
 */
/**@{*/

/** Workers must prove that they know this password. */
void work_queue_specify_password(struct work_queue* q, const char* password);

/** Like work_queue_specify_password(), with the content of a file, verbatim including its newline; start
 * workers with `work_queue_worker --password FILE`. 1, or 0 if the file cannot be read. */
int work_queue_specify_password_file(struct work_queue* q, const char* file);

/** Writes a file of mode 0600 with addresses, port, a random key and the digest of a certificate. Everybody
 * who can read it may join over TLS: `work_queue_worker --contact FILE`. The file exists while the queue
 * serves workers, until the queue is deleted. 1, or 0 if the name is missing. (Not in CCTools.) */
int work_queue_specify_contact_file(struct work_queue* q, const char* file);

/** Who may list the queue, with the commands of its tasks: "open" (everybody who reaches the port, also by
 * CCTools' work_queue_status, curl or a browser), "key" (who proves the key, by our work_queue_status) or
 * "off". Default: "open" without a password or contact file, else "key". 1, or 0 for another word. (Not in
 * CCTools.) */
int work_queue_specify_status(struct work_queue* q, const char* who);

/** The name by which `work_queue_worker -M NAME` finds this queue. NULL: none. */
void work_queue_specify_name(struct work_queue* q, const char* name);
/** A catalog server to which a queue with a name announces itself; port 0: CATALOG_PORT, or 9097. Without it:
 * those of CATALOG_HOST; without that, none. share/doc/names.md says what they are told. */
void work_queue_specify_catalog_server(struct work_queue* q, const char* hostname, int port);
/** Several: "HOST[:PORT],HOST[:PORT]". NULL: those of CATALOG_HOST. */
void work_queue_specify_catalog_servers(struct work_queue* q, const char* hosts);
/** Workers serve queues with a higher priority first, among those whose name matches; default 0. */
void work_queue_specify_priority(struct work_queue* q, int priority);
/** How many tasks the program will still submit, for those who look at the queue; default 0. */
void work_queue_specify_num_tasks_left(struct work_queue* q, int ntasks);
/** By which address of its record at the catalog servers workers reach the queue: "by_ip" (its own addresses;
 * default), "by_hostname", or "by_apparent_ip" (the one that the server sees). */
void work_queue_manager_preferred_connection(struct work_queue* q, const char* preferred_connection);

/**@}*/
/** @name Logs
 * Call these before the queue serves workers. 1, or 0 if the file cannot be written. */
/**@{*/

/** Writes the queue's statistics as a time series; as HDF5 if the name ends in .h5. */
int work_queue_specify_log(struct work_queue* q, const char* file);

/** Writes a line for each event of each task and worker. */
int work_queue_specify_transactions_log(struct work_queue* q, const char* file);

/**@}*/
/** @name Limits */
/**@{*/

/** Sets a parameter such as "hungry-minimum"; share/doc/managers.md lists them. 0, or -1 for an unknown name
 * or a value out of bounds. */
int work_queue_tune(struct work_queue* q, const char* name, double value);

/** Seconds of silence before a worker is asked (default: 1). 0: silence never loses a worker. No worker is
 * lost before 30 s of silence. */
void work_queue_specify_keepalive_interval(struct work_queue* q, int interval);

/** Seconds to wait for the answer (default: 29). */
void work_queue_specify_keepalive_timeout(struct work_queue* q, int timeout);

/** Fast abort: kills a task that runs longer than @p multiplier times the mean of its category (after 10
 * successes) and runs it again, if possible on another host. The limit doubles with each kill. Below 1: off
 * (default). Returns 0 if it is on now, 1 if off. */
int work_queue_activate_fast_abort(struct work_queue* q, double multiplier);

/** Replaces the multiplier for one category. 0: off for it; other values below 1: same as all categories. */
int work_queue_activate_fast_abort_category(struct work_queue* q, const char* category, double multiplier);

/**@}*/
/** @name Resources by category
 * A category's settings apply where a task specifies nothing. A new call replaces the earlier one. A NULL
 * category is "default", except in work_queue_specify_category_mode(); NULL resources specify nothing.
 * Invalid amounts and unknown names are refused with a message. share/doc/resources.md has the rules. */
/**@{*/

/** Requests of each task of the category; in modes other than fixed, its maximum allocation. */
void work_queue_specify_category_max_resources(struct work_queue* q, const char* category,
                                               const struct rmsummary* rm);

/** The minimum allocation of the category's tasks. */
void work_queue_specify_category_min_resources(struct work_queue* q, const char* category,
                                               const struct rmsummary* rm);

/** The allocation of first attempts until enough tasks are measured, in modes other than fixed. Default: the
 * maximum, or a whole worker. */
void work_queue_specify_category_first_allocation_guess(struct work_queue* q, const char* category,
                                                        const struct rmsummary* rm);

/** work_queue_specify_category_max_resources() for the category "default". */
void work_queue_specify_max_resources(struct work_queue* q, const struct rmsummary* rm);

/** work_queue_specify_category_min_resources() for the category "default". */
void work_queue_specify_min_resources(struct work_queue* q, const struct rmsummary* rm);

/** How the category's allocations are found. NULL: for all categories that have no settings and no tasks yet.
 * Modes other than fixed need work_queue_enable_monitoring(). 1, or 0 for an unknown mode. */
int work_queue_specify_category_mode(struct work_queue* q, const char* category,
                                     work_queue_category_mode_t mode);

/** Maximum number of its tasks that run at once; 0: none may run; below 0 (default): no limit. */
void work_queue_specify_category_max_concurrent(struct work_queue* q, const char* category,
                                                int max_concurrent);

/** Whether modes other than fixed size @p resource: "cores", "memory" or "disk" (default: yes); "gpus" are
 * never measured. 1, or 0 for an unknown resource. */
int work_queue_enable_category_resource(struct work_queue* q, const char* category, const char* resource,
                                        int autolabel);

/** Loads the measurements of an earlier run, which work_queue_enable_monitoring() wrote to
 * FOLDER/wq-PID.summaries. All categories known then get the maximum @p max, unless it is empty. An
 * unreadable file is refused with a message. */
void work_queue_initialize_categories(struct work_queue* q, struct rmsummary* max,
                                      const char* summaries_file);

/**@}*/
/** @name Monitoring */
/**@{*/

/** Measures all processes of tasks that start from now on; see resources_measured. If @p watchdog is not 0, a
 * task that exceeds its allocation is killed, with @ref WORK_QUEUE_RESULT_RESOURCE_EXHAUSTION unless its
 * category allows a larger attempt. (CCTools does the same; its manual says the opposite.) Without
 * monitoring, allocations are not enforced. @p folder is created if needed. It gets a report
 * wq-PID-task-ID.summary for each task that ran, before work_queue_wait() returns the task, and a line in
 * wq-PID.summaries; NULL: no reports. 1, or 0 if the folder cannot be written. */
int work_queue_enable_monitoring(struct work_queue* q, char* folder, int watchdog);

/** The same; the folder also gets wq-PID-task-ID.series, the usage of a task once a second, and
 * wq-PID-task-ID.debug. */
int work_queue_enable_monitoring_full(struct work_queue* q, char* folder, int watchdog);

/**@}*/
/** @name No effect
 * These functions warn once on stderr that they do nothing. */
/**@{*/

/** Bytes per second for all transfers, such as "100M". */
void work_queue_set_bandwidth_limit(struct work_queue* q, const char* bandwidth);
/** How workers are chosen. */
void work_queue_specify_algorithm(struct work_queue* q, work_queue_schedule_t algorithm);
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

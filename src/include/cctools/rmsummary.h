/** @file rmsummary.h Resources that a task requests, gets or uses. */
#ifndef RMSUMMARY_H
#define RMSUMMARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef SWIG
%include "wrapping.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Resources by name. Numbers below 0 mean not specified or not measured. Create it with rmsummary_create()
 * and delete it with rmsummary_delete(). Unknown strings are NULL; strings that you set must come from
 * malloc(). */
struct rmsummary {
    char* category;      /**< Of the task. */
    char* command;       /**< Of the task. */
    char* taskid;        /**< Of the task. */
    char* exit_type;     /**< How the command ended. */
    int64_t signal;      /**< The signal that ended the command. */
    int64_t exit_status; /**< Of the command. */
    int64_t last_error;  /**< An errno. */

    double start;                    /**< s since 1970-01-01 UTC. */
    double end;                      /**< s since 1970-01-01 UTC. */
    double cores;                    /**< How many. */
    double cores_avg;                /**< CPU time divided by wall time. */
    double gpus;                     /**< How many. */
    double wall_time;                /**< s */
    double cpu_time;                 /**< s, of user and system. */
    double memory;                   /**< MB of 2^20 bytes, resident. */
    double virtual_memory;           /**< MB */
    double swap_memory;              /**< MB */
    double disk;                     /**< MB */
    double bytes_read;               /**< MB */
    double bytes_written;            /**< MB */
    double bytes_received;           /**< MB, over the network. */
    double bytes_sent;               /**< MB, over the network. */
    double bandwidth;                /**< Mbit/s */
    double machine_cpus;             /**< Of the machine. */
    double machine_load;             /**< Of the machine. */
    double context_switches;         /**< How many. */
    double max_concurrent_processes; /**< Peak. */
    double total_processes;          /**< How many. */
    double total_files;              /**< Files and folders. */
    double fs_nodes;                 /**< How many. */
    double workers;                  /**< How many. */

    struct rmsummary* limits_exceeded; /**< Limits that were exceeded; NULL: none. */
    struct rmsummary* peak_times;      /**< Time of each peak, s from the start; NULL: unknown. */
    char* snapshot_name;               /**< Of a snapshot. */
    size_t snapshots_count;            /**< How many snapshots there are. */
    struct rmsummary** snapshots;      /**< snapshots_count of them, or NULL. */
};

/** Creates one with every number set to @p default_value: -1 to specify resources, 0 for sums. */
struct rmsummary* rmsummary_create(double default_value);

/** Deletes it with its strings, limits, peak times and snapshots. NULL does nothing. */
void rmsummary_delete(struct rmsummary* s);

/** Copies numbers and strings; limits, peak times and snapshots only if @p deep_copy is not 0. NULL for NULL.
 */
struct rmsummary* rmsummary_copy(const struct rmsummary* s, int deep_copy);

/** The number called @p resource, such as "cores" or "wall_time". -1, with a message, for an
 * unknown name. */
double rmsummary_get(const struct rmsummary* s, const char* resource);

/** Sets the number called @p resource. 1, or 0 with a message for an unknown name. */
int rmsummary_set(struct rmsummary* s, const char* resource, double value);

/** Numbers specified in @p src replace those of @p dest. */
void rmsummary_merge_override(struct rmsummary* dest, const struct rmsummary* src);

/** Keeps the larger of each number in @p dest. */
void rmsummary_merge_max(struct rmsummary* dest, const struct rmsummary* src);

/** Keeps the smaller of each specified number in @p dest. */
void rmsummary_merge_min(struct rmsummary* dest, const struct rmsummary* src);

/** Adds numbers specified in @p src to @p dest. */
void rmsummary_add(struct rmsummary* dest, const struct rmsummary* src);

/** The number of resources. */
size_t rmsummary_num_resources(void);

/** Their names, rmsummary_num_resources() of them; do not free them. */
const char** rmsummary_list_resources(void);

/** The unit of the number called @p resource, such as "MB"; NULL for an unknown name. */
const char* rmsummary_resource_units(const char* resource);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

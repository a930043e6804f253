/** @file rmsummary.h Resources: what a task asks for, is given, or used. */
#ifndef RMSUMMARY_H
#define RMSUMMARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Resources by name. Of a number, anything below 0 means that it is not specified, or was not measured. Made
 * by rmsummary_create(), deleted by rmsummary_delete(); its texts are NULL where nothing is known, and where
 * a program puts one there it is to be of malloc(). */
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
    double cores_avg;                /**< CPU time by wall time. */
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
    double max_concurrent_processes; /**< Most at once. */
    double total_processes;          /**< How many. */
    double total_files;              /**< Files and folders. */
    double fs_nodes;                 /**< How many. */
    double workers;                  /**< How many. */

    struct rmsummary* limits_exceeded; /**< Those that were used up, with their limits; NULL: none. */
    struct rmsummary* peak_times; /**< When each was at its highest, s from the start; NULL: not known. */
    char* snapshot_name;          /**< Of a snapshot. */
    size_t snapshots_count;       /**< How many snapshots there are. */
    struct rmsummary** snapshots; /**< So many, or NULL. */
};

/** A new one, with every number set to @p default_value: -1 for what is to be specified, 0 for sums. */
struct rmsummary* rmsummary_create(double default_value);

/** Deletes it with its texts, limits, peak times and snapshots. NULL does nothing. */
void rmsummary_delete(struct rmsummary* s);

/** A copy with texts of its own; with @p deep_copy not 0, of limits, peak times and snapshots, too, which it
 * has none of otherwise. NULL for NULL. */
struct rmsummary* rmsummary_copy(const struct rmsummary* s, int deep_copy);

/** The number called @p resource, such as "cores" or "wall_time". -1 (and a message) where there is no such
 * one. */
double rmsummary_get(const struct rmsummary* s, const char* resource);

/** Sets the number called @p resource. 1, or 0 (and a message) where there is no such one. */
int rmsummary_set(struct rmsummary* s, const char* resource, double value);

/** What is specified in @p src takes its place in @p dest. */
void rmsummary_merge_override(struct rmsummary* dest, const struct rmsummary* src);

/** The larger one of each number. */
void rmsummary_merge_max(struct rmsummary* dest, const struct rmsummary* src);

/** The smaller one of each number, of those that are specified. */
void rmsummary_merge_min(struct rmsummary* dest, const struct rmsummary* src);

/** Adds what is specified in @p src to @p dest. */
void rmsummary_add(struct rmsummary* dest, const struct rmsummary* src);

/** How many numbers there are. */
size_t rmsummary_num_resources(void);

/** Their names, rmsummary_num_resources() of them; not to be freed. */
const char** rmsummary_list_resources(void);

/** The unit of the number called @p resource, as "MB"; NULL where there is no such one. */
const char* rmsummary_resource_units(const char* resource);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

/** @file debug.h The debug log.
 *
 *      cctools_debug_flags_set("all");
 *      cctools_debug_config_file("my.debug.log");
 *
 * Call these before creating the queue. Names without `cctools_` are macros; define CCTOOLS_NO_SHORT_NAMES to
 * turn them off. */
#ifndef DEBUG_H
#define DEBUG_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef SWIG
%include "wrapping.h"
#else
#include "wrapping.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** @name Subsystems
 * For cctools_debug(). share/doc/managers.md lists those of the queue. */
/**@{*/
#define D_INFO (0LL)         /**< Always written. */
#define D_FATAL (1LL << 0)   /**< The program ends. */
#define D_ERROR (1LL << 1)   /**< Something is wrong. */
#define D_NOTICE (1LL << 2)  /**< Always written. */
#define D_DEBUG (1LL << 3)   /**< "debug" */
#define D_PROCESS (1LL << 6) /**< "process" */
#define D_TCP (1LL << 11)    /**< "tcp" */
#define D_AUTH (1LL << 12)   /**< "auth" */
#define D_WQ (1LL << 33)     /**< "wq" */
#define D_USER (1LL << 35)   /**< "user": of your program. */
#define D_MPI (1LL << 37)    /**< "mpi" */
#define D_RMON (1LL << 39)   /**< "rmonitor" */
#define D_ALL (~(0LL))       /**< "all" */
/**@}*/

#ifndef CCTOOLS_NO_SHORT_NAMES
/** @name Short names
 * As CCTools has them. */
/**@{*/
#define debug cctools_debug                                   /**< @ref cctools_debug */
#define fatal cctools_fatal                                   /**< @ref cctools_fatal */
#define notice cctools_notice                                 /**< @ref cctools_notice */
#define warn cctools_warn                                     /**< @ref cctools_warn */
#define debug_config cctools_debug_config                     /**< @ref cctools_debug_config */
#define debug_config_file cctools_debug_config_file           /**< @ref cctools_debug_config_file */
#define debug_config_file_size cctools_debug_config_file_size /**< @ref cctools_debug_config_file_size */
#define debug_flags_set cctools_debug_flags_set               /**< @ref cctools_debug_flags_set */
#define debug_flags_print cctools_debug_flags_print           /**< @ref cctools_debug_flags_print */
#define debug_flags_clear cctools_debug_flags_clear           /**< @ref cctools_debug_flags_clear */
#define debug_flags_restore cctools_debug_flags_restore       /**< @ref cctools_debug_flags_restore */
/**@}*/
#endif

/** Adds a line of your program to the log if one of the subsystems @p flags is on. @p format: as for
 * printf(). */
void cctools_debug(int64_t flags, const char* format, ...) WORK_QUEUE_ATTRIBUTES(format(printf, 2, 3));
/** Like cctools_debug(), and always to stderr, too. */
void cctools_notice(int64_t flags, const char* format, ...) WORK_QUEUE_ATTRIBUTES(format(printf, 2, 3));
/** As cctools_notice(). */
void cctools_warn(int64_t flags, const char* format, ...) WORK_QUEUE_ATTRIBUTES(format(printf, 2, 3));
/** Like cctools_notice(), then calls exit(1). */
void cctools_fatal(const char* format, ...) WORK_QUEUE_ATTRIBUTES(format(printf, 1, 2), noreturn);

/** The name in lines that your program writes; default: the program's name. */
void cctools_debug_config(const char* name);
/** The log file, appended to. NULL, "" or ":stderr" (default): stderr, for cctools_debug() only. Applies to
 * queues created later. */
void cctools_debug_config_file(const char* path);
/** At this size in bytes (default 10 MiB), the log of a queue becomes FILE.old and a new log starts; 0:
 * never. */
void cctools_debug_config_file_size(off_t size);
/** Turns on a subsystem by name, or "all"; "clear" turns all off. 1, or 0 for an unknown name. */
int cctools_debug_flags_set(const char* name);
/** Writes all names, separated by blanks. */
void cctools_debug_flags_print(FILE* stream);
/** Turns all subsystems off; returns those that were on. */
int64_t cctools_debug_flags_clear(void);
/** Turns on the subsystems that cctools_debug_flags_clear() returned, and turns all others off. */
void cctools_debug_flags_restore(int64_t flags);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

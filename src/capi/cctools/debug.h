/** @file debug.h The debug log.
 *
 *      cctools_debug_flags_set("all");
 *      cctools_debug_config_file("my.debug.log");
 *
 * before the queue is created: it then tells of what happens to it. The names without `cctools_` are macros,
 * and may be switched off by defining CCTOOLS_NO_SHORT_NAMES. */
#ifndef DEBUG_H
#define DEBUG_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** @name Subsystems
 * For cctools_debug(); of the queue's own log there are those that share/doc/managers.md names. */
/**@{*/
#define D_INFO (0LL)         /**< Said always. */
#define D_FATAL (1LL << 0)   /**< The program ends. */
#define D_ERROR (1LL << 1)   /**< Something is wrong. */
#define D_NOTICE (1LL << 2)  /**< Said always. */
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

/** Adds a line of your program to the log, where one of the subsystems @p flags is switched on. @p format as
 * printf() has it. */
void cctools_debug(int64_t flags, const char* format, ...) __attribute__((format(printf, 2, 3)));
/** The same, and always to stderr. */
void cctools_notice(int64_t flags, const char* format, ...) __attribute__((format(printf, 2, 3)));
/** As cctools_notice(). */
void cctools_warn(int64_t flags, const char* format, ...) __attribute__((format(printf, 2, 3)));
/** As cctools_notice(), and then the process ends by exit(1). */
void cctools_fatal(const char* format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** The name that lines of your program carry; the program's own unless it is given. */
void cctools_debug_config(const char* name);
/** Where the log goes: lines are appended. NULL, "" or ":stderr": to stderr, for cctools_debug() alone, which
 * is the default. Holds for queues that are created later. */
void cctools_debug_config_file(const char* path);
/** Beyond so many bytes (10 MiB) the log of a queue becomes FILE.old, and a new one begins; 0: never. */
void cctools_debug_config_file_size(off_t size);
/** Switches on a subsystem by its name, or "all"; "clear" switches all off. 1, or 0 where there is no such
 * one. */
int cctools_debug_flags_set(const char* name);
/** All names, blanks between them. */
void cctools_debug_flags_print(FILE* stream);
/** Switches all off; returns what was on. */
int64_t cctools_debug_flags_clear(void);
/** Switches on what cctools_debug_flags_clear() returned, and all else off. */
void cctools_debug_flags_restore(int64_t flags);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

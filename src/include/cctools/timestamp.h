/** @file timestamp.h Points in time and lengths of time, both in microseconds. */
#ifndef TIMESTAMP_H
#define TIMESTAMP_H

#ifdef SWIG
%include "wrapping.h"
%include "int_sizes.h"
#else
#include "int_sizes.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Microseconds: since 1970-01-01 UTC, or a length of time. */
typedef uint64_t timestamp_t;

/** For printf(), with its `%`. */
#define TIMESTAMP_FORMAT UINT64_FORMAT

/** Now, in microseconds since 1970-01-01 UTC. */
timestamp_t timestamp_get(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

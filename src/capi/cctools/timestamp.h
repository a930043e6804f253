/** @file timestamp.h Points in time and lengths of time, both in microseconds. */
#ifndef TIMESTAMP_H
#define TIMESTAMP_H

#include <inttypes.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Microseconds: since 1970-01-01 UTC, or a length of time. */
typedef uint64_t timestamp_t;

/** For printf(), behind the `%`. */
#define TIMESTAMP_FORMAT PRIu64

/** Now, in microseconds since 1970-01-01 UTC. */
timestamp_t timestamp_get(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

/** @file cctools.h The version of this Work Queue, not of CCTools. */
#ifndef CCTOOLS_H
#define CCTOOLS_H

#ifdef SWIG
%include "wrapping.h"
#else
#include <stdint.h>
#include <stdio.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Such as "0.1.0"; do not free it. */
const char* cctools_version_string(void);

/** Writes one line with the version to @p stream; @p cmd is the program's name, as in argv[0]. */
void cctools_version_print(FILE* stream, const char* cmd);

/** Writes the same line to the debug log if one of the subsystems @p type (debug.h) is on. */
void cctools_version_debug(uint64_t type, const char* cmd);

/** Compares two versions number by number, so that "0.10" is later than "0.9.1": below 0 if @p v1 is earlier,
 * 0 if they are equal, above 0 if it is later. A missing number is 0. */
int cctools_version_cmp(const char* v1, const char* v2);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

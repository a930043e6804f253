/** @file wrapping.h Lets SWIG read these headers, to make modules for Python, Perl and other languages. */
#ifndef WORK_QUEUE_WRAPPING_H
#define WORK_QUEUE_WRAPPING_H

#ifdef SWIG
%include "stdint.i"
typedef long off_t;
typedef long time_t;
#define WORK_QUEUE_ATTRIBUTES(...)
#else
#include <stdint.h>
/** Attributes for the compiler; SWIG cannot read them. */
#define WORK_QUEUE_ATTRIBUTES(...) __attribute__((__VA_ARGS__))
#endif

#endif

/** @file category.h Includes work_queue_types.h, for programs written for CCTools. */
#ifdef SWIG
%include "work_queue_types.h"
#else
#include "work_queue_types.h"
#endif

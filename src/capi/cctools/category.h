/** @file category.h What programs of CCTools look for here is in work_queue_types.h. */
#include "work_queue_types.h"

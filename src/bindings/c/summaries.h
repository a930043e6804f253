// Helpers for the struct rmsummary in tasks.
#pragma once

#include "cctools/rmsummary.h"

namespace wq::bindings::c {

// Not on the heap: no strings, and `value` for every number.
rmsummary blank_summary(double value);

}  // namespace wq::bindings::c

// The struct rmsummary in tasks.
#pragma once

#include "capi/cctools/rmsummary.h"

namespace wq::capi {

// Not of the heap: without texts, every number `value`.
rmsummary blank_summary(double value);

}  // namespace wq::capi

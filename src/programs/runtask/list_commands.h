// What runtask does with a list besides running it. Each returns the exit code.
#pragma once

#include "base/result.h"
#include "programs/runtask/options.h"

namespace wq::programs::runtask {

Result<int> reset_list(const Options& options);
Result<int> lock_list(const Options& options);  // until a signal comes
Result<int> release_worker(const Options& options);
Result<int> print_status(const Options& options);
Result<int> check_list(const Options& options);

}  // namespace wq::programs::runtask

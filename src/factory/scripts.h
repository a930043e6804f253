// The scripts of batch systems that are installed with these programs.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::factory {

struct Scripts {
    std::string submit;  // submits workers by the driver that is its first argument
    std::string driver;
};

// Of a system, such as "slurm", or, with a '/' in it, of the path of a driver. The scripts are in
// WORK_QUEUE_SCRIPTS if that is set, else in PREFIX/libexec/work_queue, or in the folder `scripts` of the
// sources in whose build folder this program is. Errors (usage): there is no such system (lists those that
// are there), or the path cannot be executed; unreachable: the scripts are not there.
Result<Scripts> find_scripts(const std::string& system);

}  // namespace wq::factory

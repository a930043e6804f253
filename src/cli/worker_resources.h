// What a worker over TCP offers: what this machine has, less what the batch system and its options say.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/worker_options.h"
#include "host/cpu_mask.h"
#include "host/launcher.h"
#include "host/machine.h"

namespace wq::cli {

struct WorkerResources {
    host::Slice slice;
    core::Resources offers;
    host::Machine machine;  // as it is offered, with everything that bounds it
    std::string unbound;    // why tasks are not bound; empty: they are
};

// More or fewer cores than there are: tasks are not bound, for other workers may have the others; but where
// --bind says how, they get the nearest.
WorkerResources worker_resources(host::Machine machine, std::int64_t free_disk_mb,
                                 const WorkerProgramOptions& options, const host::Bounds& batch = {});

// What `now` has less of than a worker offered that came with `then`, whose tasks may be bound to what is no
// longer `allowed`: "it has 4 cores to offer, and offered 8"; "": nothing. Disk is what happens to be free,
// and GPUs stay.
std::string what_it_lacks(const WorkerResources& then, const WorkerResources& now,
                          const host::CpuMask& allowed);

// "16 cores, 15843 MB memory, 61291 MB disk, 0 gpus", as the manual has it.
std::string resources_line(const core::Resources& offers);

}  // namespace wq::cli

// What a TCP worker offers: the resources of this machine, limited by the batch system and the options.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/worker_options.h"
#include "launcher/launcher.h"
#include "machine/cpu_mask.h"
#include "machine/machine.h"

namespace wq::cli {

struct WorkerResources {
    machine::Slice slice;
    core::Resources offers;
    machine::Machine machine;  // as it is offered, with everything that bounds it
    std::string unbound;       // why tasks are not bound; empty: they are
};

// More or fewer cores than there are: tasks are not bound, for other workers may have the others; but where
// --bind says how, they get the nearest.
WorkerResources worker_resources(machine::Machine machine, std::int64_t free_disk_mb,
                                 const WorkerProgramOptions& options, const machine::Bounds& batch = {});

// What `now` has less of than a worker offered that came with `then`, whose tasks may be bound to what is no
// longer `allowed`: "it has 4 cores to offer, and offered 8"; "": nothing. Disk is what happens to be free,
// and GPUs stay.
std::string what_it_lacks(const WorkerResources& then, const WorkerResources& now,
                          const machine::CpuMask& allowed);

// "16 cores, 15843 MB memory, 61291 MB disk, 0 gpus", as the manual has it.
std::string resources_line(const core::Resources& offers);

}  // namespace wq::cli

// The offer of a TCP worker: the resources of this machine, limited by the batch system and the options.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "node/launcher/launcher.h"
#include "node/machine/cpu_mask.h"
#include "node/machine/machine.h"
#include "node/machine/picture.h"
#include "programs/worker/worker_options.h"

namespace wq::programs::worker {

struct WorkerResources {
    node::machine::NodeSlice slice;
    engine::model::Resources offers;
    node::machine::Machine machine;    // as offered, with all its limits
    std::int64_t allocated_cores = 0;  // to its batch job on this host; 0: not known
    std::string unbound;               // why tasks are not bound; empty: they are bound
};

// If the number of cores is set to another than the machine has, tasks are not bound, because other workers
// may use the remaining cores. With --bind, tasks are bound to the nearest possible cores.
WorkerResources worker_resources(node::machine::Machine machine, std::int64_t free_disk_mb,
                                 const WorkerProgramOptions& options,
                                 const node::machine::Bounds& batch = {});

// Says what `now` lacks compared with the offer `then`, whose tasks may be bound to units that are no longer
// `allowed`: "it has 4 cores to offer, and offered 8"; "": nothing. Ignores disk, which is free space, and
// GPUs, which do not change.
std::string what_it_lacks(const WorkerResources& then, const WorkerResources& now,
                          const node::machine::CpuMask& allowed);

// "16 cores, 15843 MB memory, 61291 MB disk, 0 gpus", as in the manual.
std::string resources_line(const engine::model::Resources& offers);

// work_queue_worker --detect: prints what the worker would offer, and each limit with its source.

// Lines for people; marks the limit that applies.
std::string detect_text(const WorkerResources& found);

// One JSON object: "offers" and "limits" by cores, memory_mb, disk_mb, gpus; "binding", "machine", "gpus",
// "remarks". share/doc/workers.md lists the keys; they do not change.
std::string detect_json(const WorkerResources& found);

// Draws the machine full of tasks that request this, placed by Work Queue's rules; one letter per task.
std::string draw_tasks(const WorkerResources& found, const engine::model::Needs& task,
                       const node::machine::PictureStyle& style);

// The terminal's width (COLUMNS first, 80 if unknown); draws boxes if the locale uses UTF-8.
node::machine::PictureStyle terminal_style();

}  // namespace wq::programs::worker

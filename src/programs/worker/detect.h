// work_queue_worker --detect: prints what the worker would offer, and each limit with its source.
#pragma once

#include <string>

#include "node/machine/picture.h"
#include "programs/worker/worker_resources.h"

namespace wq::programs::worker {

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

// work_queue_worker --detect: what the worker would offer, and each limit with its source.
#pragma once

#include <string>

#include "cli/worker_resources.h"
#include "machine/picture.h"

namespace wq::cli {

// Lines for people; in a list of limits the one that counts is marked.
std::string detect_text(const WorkerResources& found);

// One JSON object: "offers" and "limits" by cores, memory_mb, disk_mb, gpus; "binding", "machine", "gpus",
// "remarks". share/doc/workers.md names the keys, which stay what they are.
std::string detect_json(const WorkerResources& found);

// The machine when it is full of tasks that ask for this, by Work Queue's rules: a letter for each.
std::string draw_tasks(const WorkerResources& found, const core::Needs& task,
                       const machine::PictureStyle& style);

// The terminal's columns (COLUMNS goes first, 80 where none is known), and boxes where the locale is of
// UTF-8.
machine::PictureStyle terminal_style();

}  // namespace wq::cli

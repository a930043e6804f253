// What a batch system says that this job has of the machine, in its environment: Slurm, PBS, Grid Engine,
// HTCondor. A word that is no number says nothing: the batch system's, not the user's.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "host/bound.h"

namespace wq::host {

struct BatchSources {
    std::function<const char*(const char*)> variable;
    std::function<std::optional<std::string>(const std::string& path)> file;  // its content
};

// What Slurm's CPUs are counted against: they are hardware threads on most clusters, cores on some.
struct CpuCount {
    std::size_t cores = 1;
    std::size_t threads = 1;  // of these cores
};

// In the order Slurm, PBS, Grid Engine, HTCondor; those of a job on several hosts are left out where they
// count all of them together.
Bounds batch_bounds(const BatchSources& sources, const CpuCount& usable = {});

BatchSources batch_environment();  // of this process

}  // namespace wq::host

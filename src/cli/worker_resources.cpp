#include "cli/worker_resources.h"

#include <algorithm>

#include "host/divide.h"

namespace wq::cli {

namespace {

// Every core as all PUs: the kernel spreads what runs on them.
void share_all(host::Slice& slice, std::size_t cores) {
    std::vector<int> all;
    for (const auto& core : slice.cores) all.insert(all.end(), core.begin(), core.end());
    slice.cores.assign(cores, all);
    slice.bind = false;
}

}  // namespace

WorkerResources worker_resources(const host::Machine& machine, std::int64_t free_disk_mb,
                                 const WorkerProgramOptions& options) {
    WorkerResources found;
    host::Slice& slice = found.slice;
    slice = host::divide(machine, free_disk_mb, 1).front();
    if (options.cores && static_cast<std::size_t>(*options.cores) != slice.cores.size())
        share_all(slice, static_cast<std::size_t>(*options.cores));
    if (options.memory_mb) slice.memory_mb = *options.memory_mb;
    if (options.disk_mb) slice.disk_mb = std::min(*options.disk_mb, slice.disk_mb);
    if (options.gpus) {
        const auto wanted = static_cast<std::size_t>(*options.gpus);
        if (wanted > slice.gpus.size()) slice.gpus = host::first_numbers(wanted);
        slice.gpus.resize(wanted);
        if (slice.gpu_variable.empty() && wanted > 0) slice.gpu_variable = "CUDA_VISIBLE_DEVICES";
    }
    found.offers = {static_cast<std::int64_t>(slice.cores.size()), slice.memory_mb, slice.disk_mb,
                    static_cast<std::int64_t>(slice.gpus.size())};
    return found;
}

std::string resources_line(const core::Resources& offers) {
    return format_count_with_fraction(offers.cores) + " cores, " + std::to_string(offers.memory_mb) +
           " MB memory, " + std::to_string(offers.disk_mb) + " MB disk, " +
           format_count_with_fraction(offers.gpus) + " gpus";
}

}  // namespace wq::cli

#include "programs/worker/worker_resources.h"

#include <algorithm>

#include "node/machine/divide.h"
#include "node/machine/restrict.h"

namespace wq::programs::worker {

namespace {

using node::machine::Binding;
using node::machine::BoundKind;

node::machine::Bounds said(const WorkerProgramOptions& options) {
    node::machine::Bounds bounds;
    const auto add = [&](BoundKind kind, const std::optional<std::int64_t>& amount) {
        // A limit above the free disk would make tasks fail in the middle, so it does not override the free
        // disk.
        const bool decides = kind != BoundKind::disk;
        if (amount)
            bounds.push_back(
                {kind, *amount, options.said_by[static_cast<std::size_t>(kind)], false, decides, {}});
    };
    add(BoundKind::cores, options.cores);
    add(BoundKind::memory, options.memory_mb);
    add(BoundKind::disk, options.disk_mb);
    add(BoundKind::gpus, options.gpus);
    return bounds;
}

std::string why_unbound(const node::machine::Machine& machine, const WorkerProgramOptions& options) {
    if (!machine.this_machine) return "the machine is simulated (" + machine.origin + ")";
    if (machine.core_count && *machine.core_count > machine.cores.size())
        return std::to_string(*machine.core_count) + " cores of " + std::to_string(machine.cores.size());
    if (machine.core_count)
        return std::to_string(*machine.core_count) + " of " + std::to_string(machine.cores.size()) +
               " cores, and it is unknown which; if no others use them, --bind core takes the nearest";
    if (options.bind == Binding::none) return "--bind none";
    return {};
}

bool is_bound_to_others(const node::machine::Slice& slice, const node::machine::CpuMask& allowed) {
    if (slice.bind == Binding::none || !slice.of_this_machine) return false;
    return std::any_of(slice.cores.begin(), slice.cores.end(), [&](const std::vector<int>& core) {
        return std::any_of(core.begin(), core.end(), [&](int pu) { return !allowed.contains(pu); });
    });
}

}  // namespace

WorkerResources worker_resources(node::machine::Machine machine, std::int64_t free_disk_mb,
                                 const WorkerProgramOptions& options, const node::machine::Bounds& batch) {
    node::machine::Bounds bounds{{BoundKind::disk, free_disk_mb, "free", true, false, {}}};
    bounds.insert(bounds.end(), batch.begin(), batch.end());
    for (const node::machine::Bound& bound : said(options)) bounds.push_back(bound);
    node::machine::restrict_to(machine, bounds);
    if (options.bind && *options.bind != Binding::none) node::machine::choose_nearest(machine);
    if (options.threads_per_core) node::machine::leave_threads(machine, *options.threads_per_core);

    WorkerResources found;
    const auto disk = node::machine::binding_bound(machine.bounds, BoundKind::disk);
    node::machine::Slice& slice = found.slice;
    slice = node::machine::divide(machine, disk ? disk->amount : free_disk_mb, 1).front();
    if (slice.bind != Binding::none) slice.bind = options.bind.value_or(Binding::core);
    found.offers = {static_cast<std::int64_t>(slice.cores.size()), slice.memory_mb, slice.disk_mb,
                    static_cast<std::int64_t>(slice.gpus.size())};
    found.unbound = why_unbound(machine, options);
    found.machine = std::move(machine);
    return found;
}

std::string what_it_lacks(const WorkerResources& then, const WorkerResources& now,
                          const node::machine::CpuMask& allowed) {
    if (is_bound_to_others(then.slice, allowed))
        return "its tasks are bound to cores that it may no longer use";
    const auto fewer = [](const std::string& had, const std::string& has) {
        return "it can offer " + has + " instead of " + had;
    };
    const engine::model::Resources& had = then.offers;
    const engine::model::Resources& has = now.offers;
    if (has.cores < had.cores)
        return fewer(format_count_with_fraction(had.cores), format_count_with_fraction(has.cores) + " cores");
    if (has.memory_mb < had.memory_mb)
        return fewer(std::to_string(had.memory_mb), std::to_string(has.memory_mb) + " MB memory");
    return {};
}

std::string resources_line(const engine::model::Resources& offers) {
    return format_count_with_fraction(offers.cores) + " cores, " + std::to_string(offers.memory_mb) +
           " MB memory, " + std::to_string(offers.disk_mb) + " MB disk, " +
           format_count_with_fraction(offers.gpus) + " gpus";
}

}  // namespace wq::programs::worker

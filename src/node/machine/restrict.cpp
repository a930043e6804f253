#include "node/machine/restrict.h"

#include <algorithm>
#include <iterator>

#include "node/machine/core_pool.h"

namespace wq::node::machine {

namespace {

// The GPUs that the bound names; the first ones if it names none of them.
std::vector<std::size_t> gpus_kept(const Gpus& gpus, const Bound& bound) {
    std::vector<std::size_t> kept;
    for (const std::string& name : bound.names) {
        const auto at = std::find(gpus.names.begin(), gpus.names.end(), name);
        if (at != gpus.names.end()) kept.push_back(static_cast<std::size_t>(at - gpus.names.begin()));
    }
    const auto wanted = static_cast<std::size_t>(bound.amount);
    if (kept.size() == wanted) return kept;
    kept.resize(wanted);
    for (std::size_t i = 0; i < wanted; ++i) kept[i] = i;
    return kept;
}

void restrict_gpus(Machine& machine, const Bound& bound) {
    Gpus& gpus = machine.gpus;
    const auto wanted = static_cast<std::size_t>(bound.amount);
    if (wanted > gpus.names.size()) {
        machine.remarks.push_back(bound.source + " names " + std::to_string(wanted) + " GPUs, but only " +
                                  std::to_string(gpus.names.size()) +
                                  " were found: all are offered, numbered from 0");
        gpus.names = first_numbers(wanted);
        gpus.devices.resize(wanted);
        gpus.source = bound.source;
        if (gpus.variable.empty()) gpus.variable = "CUDA_VISIBLE_DEVICES";
        return;
    }
    Gpus kept = gpus;
    kept.names.clear();
    kept.devices.clear();
    for (const std::size_t gpu : gpus_kept(gpus, bound)) {
        kept.names.push_back(gpus.names[gpu]);
        kept.devices.push_back(gpu < gpus.devices.size() ? gpus.devices[gpu] : GpuDevice{});
    }
    gpus = std::move(kept);
}

}  // namespace

void restrict_to(Machine& machine, const Bounds& bounds) {
    machine.bounds.insert(machine.bounds.end(), bounds.begin(), bounds.end());
    if (const auto cores = binding_bound(machine.bounds, BoundKind::cores)) {
        const auto count = static_cast<std::size_t>(std::max<std::int64_t>(cores->amount, 0));
        machine.core_count.reset();
        if (count != machine.cores.size()) machine.core_count = count;
    }
    if (const auto memory = binding_bound(machine.bounds, BoundKind::memory))
        machine.memory_mb = memory->amount;
    const auto gpus = binding_bound(machine.bounds, BoundKind::gpus);
    if (gpus && static_cast<std::size_t>(gpus->amount) != machine.gpus.names.size())
        restrict_gpus(machine, *gpus);
    if (auto absent = absent_gpus(machine.gpus)) machine.remarks.push_back(std::move(*absent));
}

Bounds of_node(const Bounds& bounds) {
    Bounds kept;
    std::copy_if(bounds.begin(), bounds.end(), std::back_inserter(kept),
                 [](const Bound& bound) { return bound.of_node; });
    return kept;
}

void choose_nearest(Machine& machine) {
    if (!machine.core_count || *machine.core_count > machine.cores.size()) return;
    std::vector<Place> places;
    for (std::size_t core = 0; core < machine.cores.size(); ++core) places.push_back(machine.place(core));
    std::vector<std::size_t> chosen;
    CorePool(std::move(places)).take(*machine.core_count, chosen);
    std::sort(chosen.begin(), chosen.end());
    std::vector<std::vector<int>> cores;
    std::vector<std::size_t> numbers;
    for (const std::size_t core : chosen) {
        cores.push_back(std::move(machine.cores[core]));
        numbers.push_back(machine.numbers[core]);
    }
    machine.cores = std::move(cores);
    machine.numbers = std::move(numbers);
    machine.core_count.reset();
}

void leave_threads(Machine& machine, std::size_t most) {
    for (std::vector<int>& core : machine.cores)
        if (core.size() > most) core.resize(most);
}

}  // namespace wq::node::machine

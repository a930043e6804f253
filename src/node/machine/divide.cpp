#include "node/machine/divide.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace wq::node::machine {

namespace {

// Where part `index` of `parts` of a whole begins; the next part begins where it ends.
template <class T>
T cut(T whole, std::size_t index, std::size_t parts) {
    // In this order of operations a part is off by less than one, and the parts add up; 128 bits hold any
    // product of two.
    __extension__ using Wide = unsigned __int128;
    return static_cast<T>(static_cast<Wide>(whole) * index / parts);
}

// One "core" of all PUs: the kernel spreads the tasks that share it.
std::vector<int> all_pus(const Machine& machine) {
    std::vector<int> pus;
    for (const auto& core : machine.cores) pus.insert(pus.end(), core.begin(), core.end());
    return pus;
}

std::string cores_text(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " core" : " cores");
}

// Those that our job has, as far as its batch system says that: the affinity mask may allow fewer.
std::size_t cores_of_job(const Machine& machine) {
    std::size_t least = machine.cores_of_machine;
    for (const Bound& bound : machine.bounds)
        if (bound.kind == BoundKind::cores && bound.source != affinity_mask)
            least = std::min(least, static_cast<std::size_t>(std::max<std::int64_t>(bound.amount, 1)));
    return least;
}

}  // namespace

std::vector<Slice> divide(const Machine& machine, std::int64_t disk_mb, std::size_t ranks) {
    const std::size_t cores = machine.cores_offered();
    const bool shared = ranks > cores;
    const bool named = !shared && !machine.core_count;
    std::vector<Slice> slices(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        Slice& slice = slices[rank];
        const std::size_t first = cut(cores, rank, ranks);
        const std::size_t end = cut(cores, rank + 1, ranks);
        slice.of_this_machine = machine.this_machine;
        slice.bind = named && machine.this_machine ? Binding::core : Binding::none;
        for (std::size_t core = first; named && core < end; ++core) {
            slice.cores.push_back(machine.cores[core]);
            if (core < machine.numbers.size()) slice.places.push_back(machine.place(core));
        }
        if (!named) slice.cores.assign(shared ? 1 : end - first, all_pus(machine));

        const std::size_t parts = shared ? ranks : cores;
        const auto share = [&](std::int64_t whole) {
            return shared ? cut(whole, rank + 1, parts) - cut(whole, rank, parts)
                          : cut(whole, end, parts) - cut(whole, first, parts);
        };
        slice.memory_mb = share(machine.memory_mb);
        slice.disk_mb = share(disk_mb);
        slice.gpu_variable = machine.gpus.variable;
        const std::size_t gpus = machine.gpus.names.size();
        for (std::size_t gpu = cut(gpus, rank, ranks); gpu < cut(gpus, rank + 1, ranks); ++gpu) {
            slice.gpus.push_back(machine.gpus.names[gpu]);
            slice.gpu_nodes.push_back(gpu < machine.gpus.devices.size() ? machine.gpus.devices[gpu].node
                                                                        : -1);
        }
    }
    return slices;
}

void take_all_gpus(Slice& slice, const Machine& machine) {
    slice.gpus = machine.gpus.names;
    slice.gpu_nodes.assign(slice.gpus.size(), -1);
}

void bind_as(Slice& slice, std::optional<Binding> bind, std::optional<std::size_t> threads) {
    if (bind && slice.bind != Binding::none) slice.bind = *bind;
    if (!threads || slice.places.empty()) return;
    for (std::vector<int>& core : slice.cores)
        if (core.size() > *threads) core.resize(*threads);
}

std::vector<std::string> warnings(const Machine& machine, std::size_t ranks) {
    std::vector<std::string> lines = machine.remarks;
    const std::size_t usable = machine.cores.size();
    const std::size_t all = cores_of_job(machine);
    // With mpirun's default each rank gets one core, and the node's other cores stay idle. A batch job with a
    // part of a node usually has more cores than ranks there.
    if (usable <= ranks && usable < all)
        lines.push_back(
            "uses " + std::to_string(usable) + " of " + cores_text(all) +
            ", as mpirun, srun or taskset bound it: start with `mpirun --bind-to none` (srun: `-c` "
            "cores, `--cpu-bind=none`) to use them all");
    else if (ranks > usable)
        lines.push_back(std::to_string(ranks) + " ranks share " + cores_text(usable) +
                        ": tasks are not bound and compete; one rank per node is enough");
    if (machine.cpu_quota && *machine.cpu_quota + 0.01 < static_cast<double>(usable)) {
        std::array<char, 32> quota;
        std::snprintf(quota.data(), quota.size(), "%.1f", *machine.cpu_quota);
        lines.push_back("the control group allows the time of " + std::string(quota.data()) + " of " +
                        cores_text(usable) + ": raise its CPU quota, or run fewer tasks at once (--cores)");
    }
    return lines;
}

}  // namespace wq::node::machine

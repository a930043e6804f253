#include "node/machine/divide.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <iterator>

#include "node/machine/core_pool.h"
#include "node/machine/gpus.h"

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

std::vector<NodeSlice> divide(const Machine& machine, std::int64_t disk_mb, std::size_t ranks) {
    const std::size_t cores = machine.cores_offered();
    const bool shared = ranks > cores;
    const bool named = !shared && !machine.core_count;
    std::vector<NodeSlice> slices(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        NodeSlice& slice = slices[rank];
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

void take_all_gpus(NodeSlice& slice, const Machine& machine) {
    slice.gpus = machine.gpus.names;
    slice.gpu_nodes.assign(slice.gpus.size(), -1);
}

void bind_as(NodeSlice& slice, std::optional<Binding> bind, std::optional<std::size_t> threads) {
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
            ", because mpirun, srun or taskset bound this process: to use all cores, start with `mpirun "
            "--bind-to none` (srun: `-c` cores, `--cpu-bind=none`)");
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

namespace {

bool is_number(const std::string& name) {
    return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// "2" and "a100:2": 2.
std::size_t gpus_per_task(const char* text) {
    const std::string_view all = text == nullptr ? "" : text;
    const std::string_view last = all.substr(all.rfind(':') + 1);
    std::size_t count = 0;
    std::from_chars(last.data(), last.data() + last.size(), count);
    return count;
}

bool are_bound_apart(const std::vector<RankGpus>& ranks) {
    for (auto rank = ranks.begin(); rank != ranks.end(); ++rank) {
        const bool again = std::any_of(
            ranks.begin(), rank, [&](const RankGpus& other) { return other.bound_as == rank->bound_as; });
        if (rank->bound_as.empty() || again) return false;
    }
    return ranks.size() > 1;
}

}  // namespace

RankGpus gpus_of_rank(const std::function<const char*(const char*)>& variable) {
    RankGpus gpus{gpu_variable(variable), {}};
    if (gpus.variable.empty()) return gpus;
    gpus.names = visible_devices(variable(gpus.variable.c_str()));
    // The ranks of an mpirun within the job have the variables of the one task that started them all.
    const char* const task = variable("SLURM_LOCALID");
    if (task != nullptr && gpus_per_task(variable("SLURM_GPUS_PER_TASK")) == gpus.names.size())
        gpus.bound_as = task;
    return gpus;
}

NodeGpus gpus_of_node(const std::vector<RankGpus>& ranks) {
    NodeGpus node;
    for (const RankGpus& rank : ranks)
        if (node.variable.empty()) node.variable = rank.variable;
    for (const RankGpus& rank : ranks) {
        node.differ =
            node.differ || rank.variable != ranks.front().variable || rank.names != ranks.front().names;
        if (rank.variable != node.variable) continue;
        for (const std::string& name : rank.names)
            if (std::find(node.names.begin(), node.names.end(), name) == node.names.end())
                node.names.push_back(name);
    }
    node.of_each_rank = !node.differ && !node.names.empty() &&
                        std::all_of(node.names.begin(), node.names.end(), is_number) &&
                        are_bound_apart(ranks);
    return node;
}

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
                 [](const Bound& bound) { return bound.of == BoundOf::node; });
    return kept;
}

void choose_nearest(Machine& machine) {
    if (!machine.core_count || *machine.core_count > machine.cores.size()) return;
    std::vector<CoreGroups> places;
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

#include "node/machine/rank_gpus.h"

#include <algorithm>
#include <charconv>

#include "node/machine/gpus.h"

namespace wq::node::machine {

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

}  // namespace wq::node::machine

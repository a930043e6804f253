// One reason why a worker offers no more: the amount and its source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wq::node::machine {

enum class BoundKind : std::uint8_t { cores, memory, disk, gpus };

struct Bound {
    BoundKind kind = BoundKind::cores;
    std::int64_t amount = 0;  // cores and GPUs: count; memory and disk: MB of 2^20 bytes
    std::string source;       // "affinity mask", "SLURM_CPUS_PER_TASK", "--cores"
    // It applies to the node as a whole, not to one process: ranks on the node share it.
    bool of_node = false;
    // Set by the user: overrides the others.
    bool decides = false;
    std::vector<std::string> names = {};  // of GPUs, if the source names them
    bool operator==(const Bound&) const = default;
};

using Bounds = std::vector<Bound>;

// The effective one: the last that decides, else the first of the smallest; nullopt if none is of `kind`.
inline std::optional<Bound> binding_bound(const Bounds& bounds, BoundKind kind) {
    std::optional<Bound> best;
    for (const Bound& bound : bounds) {
        if (bound.kind != kind) continue;
        if (!best || bound.decides || (!best->decides && bound.amount < best->amount)) best = bound;
    }
    return best;
}

}  // namespace wq::node::machine

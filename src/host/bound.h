// One reason for which a worker offers no more: how much, and who says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wq::host {

enum class BoundKind : std::uint8_t { cores, memory, disk, gpus };

struct Bound {
    BoundKind kind = BoundKind::cores;
    std::int64_t amount = 0;  // cores and GPUs: how many; memory and disk: MB of 2^20 bytes
    std::string source;       // "affinity mask", "SLURM_CPUS_PER_TASK", "--cores"
    // It speaks of the node as a whole, not of one process: ranks that share the node share it.
    bool of_node = false;
    // The user's will: it counts, whatever the others say.
    bool decides = false;
    std::vector<std::string> names = {};  // of GPUs, where the source names them
    bool operator==(const Bound&) const = default;
};

using Bounds = std::vector<Bound>;

// The one that counts: the last that decides, else the first of the smallest; nothing where none is of
// `kind`.
inline std::optional<Bound> binding_bound(const Bounds& bounds, BoundKind kind) {
    std::optional<Bound> best;
    for (const Bound& bound : bounds) {
        if (bound.kind != kind) continue;
        if (!best || bound.decides || (!best->decides && bound.amount < best->amount)) best = bound;
    }
    return best;
}

}  // namespace wq::host

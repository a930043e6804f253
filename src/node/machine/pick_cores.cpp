#include "node/machine/pick_cores.h"

#include <tuple>

namespace wq::node::machine {

namespace {

// For every core the length of its run of free cores.
std::vector<std::size_t> run_lengths(const std::vector<bool>& free) {
    std::vector<std::size_t> lengths(free.size(), 0);
    for (std::size_t begin = 0; begin < free.size();) {
        std::size_t end = begin;
        while (end < free.size() && free[end]) ++end;
        for (std::size_t i = begin; i < end; ++i) lengths[i] = end - begin;
        begin = end + 1;
    }
    return lengths;
}

}  // namespace

std::vector<std::size_t> pick_cores(const std::vector<bool>& free, std::size_t count) {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < free.size(); ++i)
        if (free[i]) candidates.push_back(i);
    if (count == 0 || candidates.size() < count) return {};

    const std::vector<std::size_t> runs = run_lengths(free);
    std::size_t best = 0;
    auto merit = [&](std::size_t at) {
        return std::make_tuple(candidates[at + count - 1] - candidates[at], runs[candidates[at]]);
    };
    for (std::size_t at = 1; at + count <= candidates.size(); ++at)
        if (merit(at) < merit(best)) best = at;
    const auto first = candidates.begin() + static_cast<std::ptrdiff_t>(best);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace wq::node::machine

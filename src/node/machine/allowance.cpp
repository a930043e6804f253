#include "node/machine/allowance.h"

#include <array>
#include <cstdio>

#include "node/machine/cpu_mask.h"

namespace wq::node::machine {

namespace {

template <class Amount>
bool is_less(const std::optional<Amount>& now, const std::optional<Amount>& before) {
    return now && (!before || *now < *before);
}

std::string of_cores(double cores) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.4g cores", cores);
    return text.data();
}

std::string of_memory(std::int64_t mb) {
    return std::to_string(mb) + " MB";
}

template <class Amount, class Text>
std::string lessened(const char* what, const std::optional<Amount>& before, const std::optional<Amount>& now,
                     Text&& text) {
    return std::string(what) + " is limited to " + text(*now) + " now, " +
           (before ? "to " + text(*before) : std::string("not")) + " before";
}

}  // namespace

Allowance Allowance::of_this_process(const ControlGroupRoots& roots) {
    Allowance found;
    found.threads = CpuMask::of_process(0).count();
    found.cpu_quota = machine::cpu_quota(roots);
    if (const auto bytes = memory_limit(roots)) found.memory_mb = *bytes >> 20;
    return found;
}

std::string what_is_less(const Allowance& before, const Allowance& now) {
    if (now.threads > 0 && now.threads < before.threads)
        return "it may use " + std::to_string(now.threads) + " hardware threads now, " +
               std::to_string(before.threads) + " before";
    if (is_less(now.memory_mb, before.memory_mb))
        return lessened("its memory", before.memory_mb, now.memory_mb, of_memory);
    if (is_less(now.cpu_quota, before.cpu_quota))
        return lessened("its CPU time", before.cpu_quota, now.cpu_quota, of_cores);
    return {};
}

}  // namespace wq::node::machine

#include "functions/pool/storage.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "base/units.h"
#include "node/machine/control_group.h"

namespace wq::functions::pool {

namespace {

// What stays free, for all else that needs memory at that moment.
constexpr std::int64_t kept_free = std::int64_t{64} << 20;

std::optional<std::int64_t> memory_available() {
    std::ifstream in("/proc/meminfo");
    std::string name;
    for (std::int64_t kb = 0; in >> name >> kb; in.ignore(16, '\n'))
        if (name == "MemAvailable:") return kb * 1024;
    return std::nullopt;
}

}  // namespace

Status check_memory_room(std::size_t bytes) {
    std::optional<std::int64_t> left = memory_available();
    if (const auto of_group = node::machine::memory_left())
        left = left ? std::min(*left, *of_group) : *of_group;
    if (!left) return success();
    const std::int64_t usable = std::max<std::int64_t>(0, *left - kept_free);
    if (bytes <= static_cast<std::size_t>(usable)) return success();
    return Error{ExitCode::unreachable,
                 "no memory is left for an array of " +
                     format_size(static_cast<std::int64_t>(std::min(bytes, std::size_t{1} << 62))) + ": " +
                     format_size(usable) + " are available"};
}

std::size_t memory_to_keep(std::size_t workers) {
    std::int64_t all = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (const auto of_group = node::machine::memory_limit()) all = std::min(all, *of_group);
    return static_cast<std::size_t>(std::max<std::int64_t>(all, 0)) / 8 / (workers + 1);
}

}  // namespace wq::functions::pool

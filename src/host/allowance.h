// What this process is allowed of its machine, as far as that may change while it runs and is cheap to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "host/control_group.h"

namespace wq::host {

struct Allowance {
    std::size_t threads = 0;                // of its affinity mask, which a cpuset lessens
    std::optional<double> cpu_quota;        // cores
    std::optional<std::int64_t> memory_mb;  // of its control group

    static Allowance of_this_process(const ControlGroupRoots& roots = {});
};

// "its memory is limited to 2000 MB now, to 8000 MB before"; "": nothing is less than it was.
std::string what_is_less(const Allowance& before, const Allowance& now);

}  // namespace wq::host

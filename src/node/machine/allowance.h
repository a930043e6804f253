// What this process may use of its machine, as far as that can change while it runs and is cheap to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "node/machine/control_group.h"

namespace wq::node::machine {

struct Allowance {
    std::size_t threads = 0;                // in its affinity mask, which a cpuset may reduce
    std::optional<double> cpu_quota;        // cores
    std::optional<std::int64_t> memory_mb;  // limit of its control group

    static Allowance of_this_process(const ControlGroupRoots& roots = {});
};

// "its memory is limited to 2000 MB now, to 8000 MB before"; "": nothing was reduced.
std::string what_is_less(const Allowance& before, const Allowance& now);

}  // namespace wq::node::machine

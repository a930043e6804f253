// From hwloc to the layout. Of this room's headers only the .cpp files named topology* may include it: it
// needs a handle of hwloc's.
#pragma once

#include <memory>

#include "base/result.h"
#include "host/cpu_mask.h"
#include "host/layout.h"

struct hwloc_topology;

namespace wq::host {

using Topology = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology*)>;

// Where a topology is taken from.
struct TopologySource {
    enum class Kind { this_machine, xml, synthetic };
    Kind kind = Kind::this_machine;
    std::string text;  // the file's path, or the description

    // As HWLOC_XMLFILE and HWLOC_SYNTHETIC say, of which the first goes first.
    static TopologySource of_environment();
    std::string in_words() const;  // "HWLOC_XMLFILE /path"
};

// Loaded. Error (bad_input): the file or description cannot be read; hwloc itself would go on with this
// machine.
Result<Topology> load_topology(const TopologySource& source);

struct LayoutFound {
    Layout layout;
    CpuMask granted;           // the PUs that the control group (or the file) leaves
    bool this_machine = true;  // affinity and control groups of this process are about it
};
LayoutFound read_layout(hwloc_topology* topology);

}  // namespace wq::host

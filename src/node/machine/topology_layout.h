// Builds the layout from hwloc. Only the .cpp files named topology* may include this header: it needs hwloc's
// handle.
#pragma once

#include <memory>

#include "base/result.h"
#include "node/machine/cpu_mask.h"
#include "node/machine/layout.h"

struct hwloc_topology;

namespace wq::node::machine {

using Topology = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology*)>;

// The source of a topology.
struct TopologySource {
    enum class Kind { this_machine, xml, synthetic };
    Kind kind = Kind::this_machine;
    std::string text;  // the file's path, or the description

    // From HWLOC_XMLFILE, else HWLOC_SYNTHETIC.
    static TopologySource of_environment();
    std::string in_words() const;  // "HWLOC_XMLFILE /path"
};

// Error (bad_input): the file or description cannot be read; hwloc itself would continue with this machine.
Result<Topology> load_topology(const TopologySource& source);

struct LayoutFound {
    Layout layout;
    CpuMask granted;           // the PUs that the control group (or the file) leaves
    bool this_machine = true;  // affinity and control groups of this process apply to it
};
LayoutFound read_layout(hwloc_topology* topology);

}  // namespace wq::node::machine

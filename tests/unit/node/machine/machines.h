// The machines of the golden files: a large one, one with many threads per core, one with holes, and one with
// one core.
#pragma once

#include <string>

#include "node/machine/topology.h"
#include "support/source_dir.h"

namespace wq::node::machine::test {

inline CpuMask units(int first, int end) {
    CpuMask mask;
    for (int unit = first; unit < end; ++unit) mask.add(unit);
    return mask;
}

// 2 packages of 64 cores, 8 NUMA nodes of 2 caches each, 8 GPUs.
inline Machine two_packages() {
    const auto path = wq::test::source_dir() / "tests/golden/machines/two_packages.xml";
    return discover_file(path.string(), units(0, 128)).or_throw();
}

// 2 packages of 8 cores with 2 threads each, of which the file leaves 21 threads.
inline Machine holes() {
    const auto path = wq::test::source_dir() / "tests/golden/machines/holes.xml";
    return discover_file(path.string(), units(0, 32)).or_throw();
}

inline Machine smt_four() {
    return discover_synthetic("package:2 l2:4 core:2 pu:4", units(0, 64)).or_throw();
}

inline Machine one_core() {
    return discover_synthetic("package:1 core:1 pu:1", units(0, 1)).or_throw();
}

}  // namespace wq::node::machine::test

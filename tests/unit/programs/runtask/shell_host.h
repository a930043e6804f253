// The program that runs these tests is also the host of the commands that they start.
#pragma once

#include "node/process/command_host.h"

namespace wq::programs::runtask {

// Before main(), which knows nothing of hosts.
[[gnu::constructor]] inline void become_host_if_asked(int argc, char** argv, char**) {
    node::process::host_commands_if_asked(argc, argv);
}

}  // namespace wq::programs::runtask

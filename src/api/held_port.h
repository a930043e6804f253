// A port that is listened on before its manager is there: who connects meanwhile waits for it.
#pragma once

#include <vector>

#include "base/result.h"
#include "transport/tcp_socket.h"
#include "work_queue/manager.h"

namespace wq::api {

struct HeldPort {
    std::vector<transport::OwnedDescriptor> sockets;
    int port = 0;

    std::vector<int> descriptors() const;  // for ManagerOptions::sockets
};

// That of `port` and `port_range`. Errors: as of a manager's start.
Result<HeldPort> hold_port(const ManagerOptions& options);

}  // namespace wq::api

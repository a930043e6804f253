#include "api/held_port.h"

#include <cstdlib>

#include "api/listening.h"

namespace wq::api {

std::vector<int> HeldPort::descriptors() const {
    std::vector<int> all;
    for (const transport::OwnedDescriptor& socket : sockets) all.push_back(socket.get());
    return all;
}

Result<HeldPort> hold_port(const ManagerOptions& options) {
    const auto ports = ports_of(options, [](const char* name) { return std::getenv(name); });
    if (!ports) return ports.error();
    auto listening = transport::listen_on({}, ports->low, ports->high);
    if (!listening) return listening.error();
    return HeldPort{std::move(listening->descriptors), listening->port};
}

}  // namespace wq::api

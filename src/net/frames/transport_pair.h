// A connection within this process between two threads: the manager and the worker beside it. Unlike the
// loopback, each end has a descriptor that wakes its thread.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "net/frames/transport.h"

namespace wq::net::frames {

// Each end has one peer, PeerId(0), which has joined from the start; `names` are the addresses that the other
// end sees. When an end is destroyed, the other sees Left. Error (unreachable): no descriptor is left.
struct TransportPair {
    std::unique_ptr<Transport> first;
    std::unique_ptr<Transport> second;
};
Result<TransportPair> open_transport_pair(std::string name_of_first, std::string name_of_second);

}  // namespace wq::net::frames

// Two ends of a line within this process, each for a thread of its own: how a manager and a worker beside it
// talk. Unlike the loopback, an end has a descriptor that wakes its thread.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "transport/transport.h"

namespace wq::transport {

// Each end has one peer, PeerId(0), which has joined from the start; `names` are what it is called at the
// other end. When an end is destroyed the other sees Left. Error (unreachable): no descriptor is left.
struct Pipe {
    std::unique_ptr<Transport> first;
    std::unique_ptr<Transport> second;
};
Result<Pipe> open_pipe(std::string name_of_first, std::string name_of_second);

}  // namespace wq::transport

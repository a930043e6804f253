// Reads the traffic of TCP connections, which the kernel counts per socket (sock_diag of netlink).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace wq::node::usage {

struct Traffic {
    std::int64_t received = 0;
    std::int64_t sent = 0;
};
using TrafficOf = std::unordered_map<std::uint64_t, Traffic>;  // by the socket's inode

class SocketMeter {
  public:
    SocketMeter();
    explicit SocketMeter(Descriptor netlink) : netlink_(std::move(netlink)) {}
    // All connections of our network namespace, including other users'; nullopt if the kernel does not report
    // them.
    std::optional<TrafficOf> measure();

  private:
    bool append(int family, TrafficOf& to);

    Descriptor netlink_;
    std::uint32_t asked_ = 0;  // number of requests; each answer has its request's number
};

}  // namespace wq::node::usage

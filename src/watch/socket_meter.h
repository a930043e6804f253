// What went over TCP connections, as the kernel counts it for each socket (sock_diag of netlink).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace wq::watch {

struct Traffic {
    std::int64_t received = 0;
    std::int64_t sent = 0;
};
using TrafficOf = std::unordered_map<std::uint64_t, Traffic>;  // by the socket's inode

class SocketMeter {
  public:
    SocketMeter();
    explicit SocketMeter(Descriptor netlink) : netlink_(std::move(netlink)) {}
    // All connections of our network namespace, other users' too; nothing: the kernel does not tell.
    std::optional<TrafficOf> look();

  private:
    bool append(int family, TrafficOf& to);

    Descriptor netlink_;
    std::uint32_t asked_ = 0;  // requests: each has its number, and its answer too
};

}  // namespace wq::watch

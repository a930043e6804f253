// One short conversation with a server: look up its name, connect, write, read until it closes; with a time
// when it is over.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/frames/tcp_options.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::catalog {

struct Patience {
    Instant until{};
    int stop = -1;  // once this descriptor is readable, it is over
};

// Waits until `descriptor` is ready for `events` of poll(). Error unreachable: `what` took too long;
// interrupted.
Status wait_for(int descriptor, short events, const Patience& patience, const std::string& what);

// Errors (unreachable) name the host.
Result<std::vector<frames::SocketAddress>> look_up(const frames::HostPort& host, const Patience& patience);
Result<std::string> converse(const frames::HostPort& host, std::string_view says, std::size_t most_bytes,
                             const Patience& patience);

}  // namespace wq::net::catalog

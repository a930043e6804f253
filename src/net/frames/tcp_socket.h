// Sockets and addresses for system calls.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "net/frames/tcp_options.h"

namespace wq::net::frames {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
    bool same_as(const SocketAddress& other) const;
};

// "10.0.0.7:40112", "[::1]:9123"; an IPv4 address inside IPv6 is written as IPv4.
std::string to_text(const SocketAddress& address);
std::uint16_t port_of(const SocketAddress& address);
std::string host_of(const SocketAddress& address);  // the same without port and brackets

// May query name servers, and blocks. Errors (unreachable) quote the resolver.
Result<std::vector<SocketAddress>> resolve(const HostPort& from);
bool is_numeric(const std::string& host);  // resolve() does not block for it

// Small frames are sent at once, and dead peers are noticed even if our own keep-alives pile up unsent.
void prepare_socket(int descriptor, const TcpLimits& limits);

// How long ago the kernel received its last bytes, read or not.
Duration since_last_arrival(int descriptor);

// After this, close() discards unsent data and retransmits nothing.
void drop_on_close(int descriptor);

// A non-blocking socket connecting to `address`, or -1 with errno.
int connect_to(const SocketAddress& address, const TcpLimits& limits);

// Listening sockets, all on the same port. Errors as TcpListener::open.
struct Listening {
    std::vector<Descriptor> descriptors;
    std::uint16_t port = 0;
};
Result<Listening> listen_on(const std::vector<std::string>& bind, std::uint16_t low_port,
                            std::uint16_t high_port);
// Duplicates of listening sockets; they share the queue of waiting connections. Error (usage): one does not
// listen.
Result<Listening> listen_with(const std::vector<int>& sockets);

}  // namespace wq::net::frames

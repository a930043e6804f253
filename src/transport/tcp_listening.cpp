#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/units.h"
#include "transport/tcp_socket.h"

namespace wq::transport {

namespace {

// The kernel lowers it to net.core.somaxconn.
constexpr int backlog = 4096;
// With several addresses a port that is free on the first may be taken on the next.
constexpr int most_draws = 64;

void set_port(SocketAddress& address, std::uint16_t port) {
    if (address.family() == AF_INET6) {
        reinterpret_cast<sockaddr_in6*>(address.get())->sin6_port = htons(port);
    } else {
        reinterpret_cast<sockaddr_in*>(address.get())->sin_port = htons(port);
    }
}

// A listening socket, or -1 with errno.
int listen_at(const SocketAddress& address, bool both_families) {
    const int descriptor = socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    const int on = 1, only_ipv6 = both_families ? 0 : 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6)
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof only_ipv6);
    if (bind(descriptor, address.get(), address.bytes) == 0 && listen(descriptor, backlog) == 0)
        return descriptor;
    const int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

std::uint16_t bound_port(int descriptor) {
    SocketAddress bound;
    bound.bytes = sizeof bound.storage;
    getsockname(descriptor, bound.get(), &bound.bytes);
    return port_of(bound);
}

// All addresses on one port; false with errno, and `failed` is the address.
bool listen_at_port(const std::vector<SocketAddress>& addresses, bool both_families, std::uint16_t port,
                    Listening& sockets, SocketAddress& failed) {
    sockets.port = port;
    for (SocketAddress address : addresses) {
        set_port(address, sockets.port);
        const int descriptor = listen_at(address, both_families);
        if (descriptor < 0) {
            const int error = errno;
            sockets = {};
            failed = address;
            errno = error;
            return false;
        }
        sockets.descriptors.emplace_back(descriptor);
        if (sockets.port == 0) sockets.port = bound_port(descriptor);
    }
    return true;
}

Error cannot_listen(int error, const SocketAddress& at, std::uint16_t low, std::uint16_t high) {
    const std::string port = std::to_string(low);
    if (error == EADDRINUSE && low != high)
        return {ExitCode::unreachable,
                "no port from " + port + " to " + std::to_string(high) +
                    " is free on this machine: widen the range, or use port 0 for any free one"};
    if (error == EADDRINUSE)
        return {ExitCode::unreachable,
                "port " + port + " is in use on this machine: choose another, or 0 for any free one"};
    if (error == EACCES)
        return {ExitCode::not_allowed,
                "port " + port + " may not be used by you: choose one from 1024 to 65535"};
    if (error == EADDRNOTAVAIL) return {ExitCode::usage, host_of(at) + " is no address of this machine"};
    return {ExitCode::unreachable,
            "cannot listen on " + to_text(at) + ": " + std::system_category().message(error)};
}

Result<std::vector<SocketAddress>> addresses_of(const std::vector<std::string>& bind) {
    std::vector<SocketAddress> addresses;
    for (const std::string& host : bind) {
        if (!is_numeric(host))
            return Error{ExitCode::usage,
                         "cannot listen on " + quote_for_message(host) + ": no numeric address"};
        auto found = resolve({host, 0});
        if (!found) return found.error();
        addresses.push_back(found->front());
    }
    return addresses;
}

SocketAddress any_address(int family) {
    SocketAddress any;
    any.storage.ss_family = static_cast<sa_family_t>(family);
    any.bytes = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    return any;  // all zero is every address
}

// A machine without IPv6 cannot even make such a socket, or cannot bind it.
bool ipv6_works() {
    const int descriptor = listen_at(any_address(AF_INET6), true);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0;
}

}  // namespace

Result<Listening> listen_on(const std::vector<std::string>& bind, std::uint16_t low, std::uint16_t high) {
    if (high < low) return Error{ExitCode::usage, "a range of ports ends before it begins"};
    auto addresses = addresses_of(bind);
    if (!addresses) return addresses.error();
    const bool everywhere = addresses->empty();
    if (everywhere) addresses->push_back(any_address(ipv6_works() ? AF_INET6 : AF_INET));
    Listening sockets;
    SocketAddress failed;
    const int draws = low == 0 ? most_draws : 1;
    for (int draw = 0; draw < draws; ++draw) {
        for (int port = low; port <= high; ++port) {
            if (listen_at_port(*addresses, everywhere, static_cast<std::uint16_t>(port), sockets, failed))
                return sockets;
            if (errno != EADDRINUSE && errno != EACCES) return cannot_listen(errno, failed, low, high);
        }
        if (errno != EADDRINUSE) break;
    }
    return cannot_listen(errno, failed, low, high);
}

Result<Listening> listen_with(const std::vector<int>& sockets) {
    Listening duplicates;
    for (const int socket : sockets) {
        int listens = 0;
        socklen_t bytes = sizeof listens;
        if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0)
            return Error{ExitCode::usage,
                         "descriptor " + std::to_string(socket) + " is no socket that listens"};
        const int duplicate = fcntl(socket, F_DUPFD_CLOEXEC, 0);
        if (duplicate < 0)
            return Error{ExitCode::unreachable,
                         "cannot take over a socket: " + std::system_category().message(errno)};
        duplicates.descriptors.emplace_back(duplicate);
        fcntl(duplicate, F_SETFL, fcntl(duplicate, F_GETFL) | O_NONBLOCK);
        duplicates.port = bound_port(duplicate);
    }
    return duplicates;
}

}  // namespace wq::transport

#include "net/frames/tcp_socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/units.h"
#include "net/frames/tcp_listener.h"

namespace wq::net::frames {

namespace {

void set(int descriptor, int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof value);
}

int seconds_of(Duration time) {
    return static_cast<int>(
        std::max<Duration::rep>(1, std::chrono::duration_cast<std::chrono::seconds>(time).count()));
}

}  // namespace

bool SocketAddress::same_as(const SocketAddress& other) const {
    return bytes == other.bytes && std::memcmp(&storage, &other.storage, bytes) == 0;
}

std::string host_of(const SocketAddress& address) {
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 2];
    if (getnameinfo(address.get(), address.bytes, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
        return "unknown address";
    const std::string text(host);
    constexpr std::string_view mapped = "::ffff:";
    const bool is_ipv4 = text.starts_with(mapped) && text.find('.') != std::string::npos;
    return is_ipv4 ? text.substr(mapped.size()) : text;
}

std::uint16_t port_of(const SocketAddress& address) {
    return ntohs(address.family() == AF_INET6
                     ? reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_port
                     : reinterpret_cast<const sockaddr_in*>(address.get())->sin_port);
}

std::string to_text(const SocketAddress& address) {
    return to_text(HostPort{host_of(address), port_of(address)});
}

std::string local_address_of(int descriptor) {
    SocketAddress address;
    address.bytes = sizeof address.storage;
    if (::getsockname(descriptor, address.get(), &address.bytes) != 0) return {};
    return to_text(address);
}

bool is_within_machine(int descriptor) {
    SocketAddress here, there;
    here.bytes = there.bytes = sizeof here.storage;
    if (::getsockname(descriptor, here.get(), &here.bytes) != 0 ||
        ::getpeername(descriptor, there.get(), &there.bytes) != 0)
        return false;
    // Many machines have their own name at 127.0.1.1, and connect to it from 127.0.0.1.
    const std::string peer = host_of(there);
    return peer == host_of(here) || peer.starts_with("127.");
}

bool is_numeric(const std::string& host) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
    freeaddrinfo(found);
    return true;
}

Result<std::vector<SocketAddress>> resolve(const HostPort& from) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int code = getaddrinfo(from.host.c_str(), std::to_string(from.port).c_str(), &hints, &found);
    if (code != 0)
        return Error{ExitCode::unreachable, code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code)};
    std::vector<SocketAddress> addresses;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        SocketAddress address;
        std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
        address.bytes = each->ai_addrlen;
        addresses.push_back(address);
    }
    freeaddrinfo(found);
    return addresses;
}

void prepare_socket(int descriptor, const TcpLimits& limits) {
    set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, seconds_of(limits.silence / 2));
    set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, seconds_of(limits.silence / 8));
    set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 4);
    const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(limits.silence).count();
    const unsigned milliseconds = static_cast<unsigned>(std::max<std::int64_t>(timeout, 1));
    setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

Instant last_arrival(int descriptor) {
    const Instant now = instant_now();
    tcp_info info{};
    socklen_t bytes = sizeof info;
    getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &bytes);
    return now - std::chrono::milliseconds(info.tcpi_last_data_recv);
}

void drop_on_close(int descriptor) {
    const linger at_once{1, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

int connect_to(const SocketAddress& address, const TcpLimits& limits) {
    const int descriptor = socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    prepare_socket(descriptor, limits);
    if (connect(descriptor, address.get(), address.bytes) == 0 || errno == EINPROGRESS) return descriptor;
    const int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

namespace {

constexpr std::size_t most_given_addresses = 1000;

Error bad_address(const std::string& text, const std::string& why) {
    return {ExitCode::usage, "manager's address " + quote_for_message(text) + ": " + why};
}

Result<HostPort> parse_address(const std::string& text, std::uint16_t default_port) {
    const bool bracketed = text.starts_with('[');
    const std::size_t bracket = text.find(']');
    if (bracketed && bracket == std::string::npos) return bad_address(text, "']' is missing");
    std::string host = bracketed ? text.substr(1, bracket - 1) : text;
    std::string rest = bracketed ? text.substr(bracket + 1) : std::string();
    // Several colons without brackets: an IPv6 address without a port.
    if (!bracketed && std::count(text.begin(), text.end(), ':') == 1) {
        host = text.substr(0, text.find(':'));
        rest = text.substr(text.find(':'));
    }
    if (host.empty()) return bad_address(text, "the host is missing");
    if (rest.empty() && default_port == 0) return bad_address(text, "the port is missing: write HOST:PORT");
    if (rest.empty()) return HostPort{host, default_port};
    const auto port = parse_count(rest.substr(1), 1, 65535);
    if (rest.front() != ':' || !port) return bad_address(text, "the port is not a number from 1 to 65535");
    return HostPort{host, static_cast<std::uint16_t>(*port)};
}

}  // namespace

std::string to_text(const HostPort& address) {
    const std::string port = ":" + std::to_string(address.port);
    return address.host.find(':') == std::string::npos ? address.host + port
                                                       : "[" + address.host + "]" + port;
}

Result<std::vector<HostPort>> parse_addresses(const std::string& text, std::uint16_t default_port) {
    std::vector<HostPort> addresses;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(';', at), text.size());
        const std::string part = text.substr(at, end - at);
        at = end + 1;
        if (part.empty()) continue;
        auto address = parse_address(part, default_port);
        if (!address) return address.error();
        if (addresses.size() == most_given_addresses)
            return bad_address(part, "there are too many addresses");
        addresses.push_back(std::move(*address));
    }
    if (addresses.empty()) return bad_address(text, "the host is missing");
    return addresses;
}

std::vector<std::string> own_addresses() {
    std::vector<std::string> own, loopback;
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0) return own;
    for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
        const int family = each->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        SocketAddress address;
        address.bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&address.storage, each->ifa_addr, address.bytes);
        if (family == AF_INET6 &&
            IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<sockaddr_in6*>(address.get())->sin6_addr))
            continue;
        const std::string text = host_of(address);
        std::vector<std::string>& list = (each->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : own;
        if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
    }
    freeifaddrs(found);
    own.insert(own.end(), loopback.begin(), loopback.end());
    return own;
}

}  // namespace wq::net::frames

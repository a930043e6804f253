#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "net/frames/tcp_listener.h"
#include "net/frames/tcp_options.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

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

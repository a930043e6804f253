#include "programs/runtask/worker_name.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <memory>

namespace wq::programs::runtask {

namespace {

// "" for addresses that mean nothing to other machines.
std::string address_text(const sockaddr& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.sa_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        constexpr unsigned loopback = 127;
        if (ntohl(v4.sin_addr.s_addr) >> 24 != loopback)
            ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    } else if (address.sa_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) && !IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr))
            ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    }
    return text.data();
}

}  // namespace

std::string default_worker_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    std::string name = host.data();
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return name;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr) continue;
        const std::string address = address_text(*one->ifa_addr);
        if (!address.empty()) name += " " + address;
    }
    return name;
}

}  // namespace wq::programs::runtask

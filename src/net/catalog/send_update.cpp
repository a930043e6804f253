#include "net/catalog/send_update.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "net/catalog/record.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::catalog {

namespace {

Status by_udp(const frames::HostPort& host, const std::string& packet, const Patience& patience) {
    const auto addresses = look_up(host, patience);
    if (!addresses) return addresses.error();
    int error = EADDRNOTAVAIL;
    for (const frames::SocketAddress& address : *addresses) {
        const Descriptor socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (socket.get() >= 0 && ::sendto(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL,
                                          address.get(), address.bytes) >= 0)
            return success();
        error = errno;
    }
    return Error{ExitCode::unreachable, frames::to_text(host) + ": " + std::strerror(error)};
}

Status by_tcp(frames::HostPort host, const std::string& text, const Patience& patience) {
    if (host.port == 65535)
        return Error{ExitCode::unreachable, frames::to_text(host) + ": it has no next port"};
    const std::string named = frames::to_text(host);
    ++host.port;
    const auto answer = converse(host, text, most_record_bytes, patience);
    if (answer) return success();
    return Error{answer.error().code,
                 answer.error().message + " (updates by TCP go to the port after that of " + named + ")"};
}

}  // namespace

Result<UpdateWay> update_way_of_environment() {
    UpdateWay way;
    const char* const protocol = std::getenv("CATALOG_UPDATE_PROTOCOL");
    if (protocol != nullptr && *protocol != '\0') {
        way.by_udp = std::strcmp(protocol, "udp") == 0;
        if (!way.by_udp && std::strcmp(protocol, "tcp") != 0)
            return Error{ExitCode::usage,
                         "CATALOG_UPDATE_PROTOCOL is tcp or udp, not " + quote_for_message(protocol)};
    }
    const char* const limit = std::getenv("CATALOG_UPDATE_LIMIT");
    if (limit != nullptr && *limit != '\0') {
        const auto bytes = parse_count(limit, 1, 65507);  // of the longest datagram
        if (!bytes) return Error{ExitCode::usage, "CATALOG_UPDATE_LIMIT: " + bytes.error().message};
        way.compressed = static_cast<std::size_t>(*bytes);
    }
    return way;
}

Status send_update(const CatalogHosts& hosts, const Json& record, const UpdateWay& way, const Json* lean,
                   int stop, Duration patience) {
    std::string packet = packet_of(record, way.by_udp ? way.compressed : SIZE_MAX);
    if (way.by_udp && lean != nullptr && packet.size() > way.compressed)
        packet = packet_of(*lean, way.compressed);
    std::string why;
    bool taken = false;
    for (const frames::HostPort& host : hosts) {
        const Patience until{instant_now() + patience, stop};
        const Status sent = way.by_udp ? by_udp(host, packet, until) : by_tcp(host, packet, until);
        taken = taken || sent.ok();
        if (!sent && sent.error().code == ExitCode::interrupted) return sent;
        if (!sent) why += (why.empty() ? "" : "; ") + sent.error().message;
    }
    if (!taken) return Error{ExitCode::unreachable, why.empty() ? "no catalog server is named" : why};
    return success();
}

}  // namespace wq::net::catalog

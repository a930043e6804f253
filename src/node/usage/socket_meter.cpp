#include "node/usage/socket_meter.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace wq::node::usage {

namespace {

constexpr std::uint32_t established = 1;  // TCP states in which data may have been transferred
constexpr std::uint32_t fin_wait_1 = 4;
constexpr std::uint32_t fin_wait_2 = 5;
constexpr std::uint32_t close_wait = 8;
constexpr std::uint32_t last_ack = 9;
constexpr std::uint32_t closing = 11;
constexpr int tcp = 6;

struct DumpRequest {
    nlmsghdr header{};
    inet_diag_req_v2 body{};
};

// An older kernel does not report the newer fields.
Traffic traffic_in(const char* data, std::size_t size) {
    tcp_info info{};
    std::memcpy(&info, data, std::min(size, sizeof info));
    return {static_cast<std::int64_t>(info.tcpi_bytes_received),
            static_cast<std::int64_t>(info.tcpi_bytes_acked)};
}

void take_socket(const char* data, std::size_t size, TrafficOf& to) {
    inet_diag_msg head{};
    if (size < sizeof head) return;
    std::memcpy(&head, data, sizeof head);
    for (std::size_t at = NLMSG_ALIGN(sizeof head); at + sizeof(rtattr) <= size;) {
        rtattr attribute{};
        std::memcpy(&attribute, data + at, sizeof attribute);
        if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > size) return;
        if (attribute.rta_type == INET_DIAG_INFO)
            to[head.idiag_inode] = traffic_in(data + at + RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0));
        at += RTA_ALIGN(attribute.rta_len);
    }
}

enum class DumpPart { more, last, refused };

// Skips answers to an earlier request that was given up.
DumpPart take_part(const char* data, std::size_t size, std::uint32_t request, TrafficOf& to) {
    for (std::size_t at = 0; at + sizeof(nlmsghdr) <= size;) {
        nlmsghdr header{};
        std::memcpy(&header, data + at, sizeof header);
        if (header.nlmsg_len < sizeof header || at + header.nlmsg_len > size) return DumpPart::refused;
        const std::size_t body = at + NLMSG_HDRLEN;
        at += NLMSG_ALIGN(header.nlmsg_len);
        if (header.nlmsg_seq != request) continue;
        if (header.nlmsg_type == NLMSG_DONE) return DumpPart::last;
        if (header.nlmsg_type == NLMSG_ERROR) return DumpPart::refused;
        take_socket(data + body, header.nlmsg_len - NLMSG_HDRLEN, to);
    }
    return DumpPart::more;
}

}  // namespace

SocketMeter::SocketMeter() : netlink_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

bool SocketMeter::append(int family, TrafficOf& to) {
    DumpRequest request;
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.header.nlmsg_seq = ++asked_;
    request.body.sdiag_family = static_cast<std::uint8_t>(family);
    request.body.sdiag_protocol = tcp;
    request.body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    for (const std::uint32_t state : {established, fin_wait_1, fin_wait_2, close_wait, last_ack, closing})
        request.body.idiag_states |= 1U << state;
    if (send(netlink_.get(), &request, sizeof request, 0) < 0) return false;
    alignas(nlmsghdr) std::array<char, 32u << 10> buffer;
    for (;;) {
        // The kernel produces each part of the dump at once, so there is no need to wait.
        const ssize_t got = recv(netlink_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got <= 0) return false;
        const DumpPart dump_part = take_part(buffer.data(), static_cast<std::size_t>(got), asked_, to);
        if (dump_part != DumpPart::more) return dump_part == DumpPart::last;
    }
}

std::optional<TrafficOf> SocketMeter::measure() {
    if (!netlink_.valid()) return std::nullopt;
    TrafficOf all;
    const bool told = append(AF_INET, all);
    append(AF_INET6, all);  // may not exist
    if (!told) return std::nullopt;
    return all;
}

}  // namespace wq::node::usage

#include "node/usage/socket_meter.h"

#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <string>

namespace wq::node::usage {
namespace {

std::string message(std::uint16_t type, std::uint32_t request, const std::string& body) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + body.size());
    header.nlmsg_type = type;
    header.nlmsg_seq = request;
    std::string text(NLMSG_HDRLEN, '\0');
    std::memcpy(text.data(), &header, sizeof header);
    return text + body;
}

std::string told_of(std::uint32_t request, std::uint32_t inode, std::uint64_t received) {
    inet_diag_msg head{};
    head.idiag_inode = inode;
    tcp_info info{};
    info.tcpi_bytes_received = received;
    rtattr attribute{};
    attribute.rta_type = INET_DIAG_INFO;
    attribute.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(sizeof info));
    std::string body(NLMSG_ALIGN(sizeof head) + RTA_SPACE(sizeof info), '\0');
    std::memcpy(body.data(), &head, sizeof head);
    std::memcpy(body.data() + NLMSG_ALIGN(sizeof head), &attribute, sizeof attribute);
    std::memcpy(body.data() + NLMSG_ALIGN(sizeof head) + RTA_LENGTH(0), &info, sizeof info);
    return message(SOCK_DIAG_BY_FAMILY, request, body);
}

TEST(SocketMeter, ALateAnswerIsNotTakenForTheNext) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    SocketMeter meter{Descriptor(ends[0])};
    const Descriptor kernel(ends[1]);
    const auto say = [&](const std::string& text) {
        ASSERT_EQ(send(kernel.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    };
    const std::string no_more(4, '\0');
    say(told_of(99, 7, 5));  // of one that was given up
    say(message(NLMSG_DONE, 99, no_more));
    say(told_of(1, 8, 1000) + message(NLMSG_DONE, 1, no_more));  // TCP over IPv4, and then over IPv6
    say(message(NLMSG_ERROR, 99, no_more) + told_of(2, 9, 2000) + message(NLMSG_DONE, 2, no_more));
    const auto all = meter.measure();
    ASSERT_TRUE(all);
    EXPECT_EQ(all->size(), 2U);
    ASSERT_TRUE(all->contains(8) && all->contains(9));
    EXPECT_EQ(all->at(8).received, 1000);
    EXPECT_EQ(all->at(9).received, 2000);
}

}  // namespace
}  // namespace wq::node::usage

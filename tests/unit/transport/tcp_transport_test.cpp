#include <gmock/gmock.h>
#include <poll.h>

#include "transport/tcp_dialer.h"
#include "transport/tcp_listener.h"

namespace wq::transport {
namespace {

using namespace std::chrono_literals;

TEST(Tcp, FirstWords) {
    auto listener = TcpListener::open({}).or_throw();
    TcpDialOptions options;
    options.managers = {{"127.0.0.1", listener->port()}};
    auto dialer = TcpDialer::open(options);
    std::vector<Arrival> inbox;
    pollfd entry{listener->descriptors().front(), POLLIN, 0};
    ::poll(&entry, 1, 5000);
    listener->poll(inbox);
    ASSERT_EQ(inbox.size(), 1u);
    const PeerId worker = std::get<Joined>(inbox[0]).peer;
    listener->send(worker, "hello");
    listener->send(worker, "there");
    inbox.clear();
    while (inbox.size() < 3) {
        pollfd waits{dialer->descriptors().front(), POLLIN, 0};
        ASSERT_EQ(::poll(&waits, 1, 5000), 1);
        dialer->poll(inbox);
    }
    EXPECT_EQ(std::get<Frame>(inbox[1]).bytes, "hello");
    EXPECT_EQ(std::get<Frame>(inbox[2]).bytes, "there");
    EXPECT_EQ(dialer->security(), "no TLS, no key");
}

}  // namespace
}  // namespace wq::transport

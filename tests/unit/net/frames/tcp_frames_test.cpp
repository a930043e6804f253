// Frames over real sockets of this machine.
#include <map>
#include <numeric>

#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string patterned(std::size_t bytes, unsigned seed) {
    std::string text(bytes, '\0');
    unsigned state = seed;
    for (char& byte : text) byte = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
    return text;
}

TEST(TcpFrames, GoBothWaysAndBothEndsKnowWhoTheyTalkTo) {
    Manager manager = listen();
    Worker worker = dial(to_port(manager->port()));
    const PeerId peer = manager.first_peer();
    EXPECT_THAT(manager.all<Joined>()[0].address, StartsWith("127.0.0.1:"));
    manager->send(peer, "lease");
    ASSERT_TRUE(worker.await_count<Frame>(1));
    EXPECT_EQ(worker.all<Joined>()[0].address, "127.0.0.1:" + std::to_string(manager->port()));
    EXPECT_THAT(worker.frames(), ElementsAre("lease"));
    worker->send(TcpDialer::manager, std::string("out\0come", 8));
    ASSERT_TRUE(manager.await_count<Frame>(1));
    EXPECT_THAT(manager.frames(), ElementsAre(std::string("out\0come", 8)));
    EXPECT_EQ(worker->security(), "no TLS, no key");
}

TEST(TcpFrames, ThoseOfThisMachineAreToldAsThat) {
    for (const char* address : {"127.0.0.1", "127.0.1.1"}) {
        TcpListenOptions listening;
        listening.bind = {address};
        Manager manager = listen(listening);
        TcpDialOptions options;
        options.managers = {{address, manager->port()}};
        Worker worker = dial(options);
        manager->send(manager.first_peer(), "lease");
        ASSERT_TRUE(worker.await_count<Frame>(1));
        EXPECT_TRUE(worker.all<Frame>()[0].close_by);
        worker->send(TcpDialer::manager, "outcome");
        ASSERT_TRUE(manager.await_count<Frame>(1));
        EXPECT_TRUE(manager.all<Frame>()[0].close_by);
    }
}

TEST(TcpFrames, WhoExpectsThemGetsThemAndEndsAsEver) {
    Manager manager = listen();
    Worker worker = dial(to_port(manager->port()));
    const PeerId peer = manager.first_peer();
    ASSERT_TRUE(worker.await_count<Joined>(1));
    manager->expect_until(instant_now() + 1h);
    worker->expect_until(instant_now() + 1h);
    for (std::size_t i = 1; i <= 200; ++i) {
        manager->send(peer, std::to_string(i));
        ASSERT_TRUE(worker.await_count<Frame>(i));
        worker->send(TcpDialer::manager, "got it");
        ASSERT_TRUE(manager.await_count<Frame>(i));
    }
    worker->close(TcpDialer::manager);
    EXPECT_TRUE(manager.await_count<Left>(1));
}

TEST(TcpFrames, IPv6AndIPv4ReachTheSamePort) {
    Manager manager = listen({});
    Worker four = dial(to_port(manager->port()));
    TcpDialOptions options;
    options.managers = {{"::1", manager->port()}};
    Worker six = dial(options);
    four.await([&] { return !four.arrivals.empty(); });
    six.await([&] { return !six.arrivals.empty(); });
    ASSERT_EQ(four.all<Joined>().size(), 1u);
    if (six.all<Joined>().empty()) GTEST_SKIP() << "no IPv6 here: " << six.why();
    ASSERT_TRUE(manager.await_count<Joined>(2));
    std::vector<std::string> hosts;
    for (const Joined& joined : manager.all<Joined>())
        hosts.push_back(joined.address.substr(0, joined.address.rfind(':')));
    EXPECT_THAT(hosts, ::testing::UnorderedElementsAre("127.0.0.1", "[::1]"));
}

TEST(TcpFrames, TenThousandsOfAllSizesArriveWholeAndInOrder) {
    Manager manager = listen();
    Worker worker = dial(to_port(manager->port()));
    const PeerId peer = manager.first_peer();
    worker.await_count<Joined>(1);
    std::vector<std::string> there, back;
    for (unsigned i = 0; i < 10'000; ++i) {
        there.push_back(patterned(1 + i % 97 * (i % 13) * (i % 7), i));
        back.push_back(patterned(1 + i % 89 * (i % 11), i + 1));
    }
    for (unsigned i = 0; i < there.size(); ++i) {
        manager->send(peer, there[i]);
        worker->send(TcpDialer::manager, back[i]);
        if (i % 100 == 0) worker->poll(worker.arrivals);
    }
    ASSERT_TRUE(worker.await_count<Frame>(there.size()));
    ASSERT_TRUE(manager.await_count<Frame>(back.size()));
    EXPECT_EQ(worker.frames(), there);
    EXPECT_EQ(manager.frames(), back);
    EXPECT_TRUE(manager->idle());
    EXPECT_TRUE(worker->idle());
}

TEST(TcpFrames, AHundredMegabytesBetweenSmallOnes) {
    Manager manager = listen();
    Worker worker = dial(to_port(manager->port()));
    const PeerId peer = manager.first_peer();
    const std::string large = patterned(100u << 20, 7);
    manager->send(peer, "before");
    manager->send(peer, large);
    manager->send(peer, "after");
    ASSERT_TRUE(worker.await_count<Frame>(3));
    const auto frames = worker.frames();
    EXPECT_EQ(frames[0], "before");
    EXPECT_TRUE(frames[1] == large);
    EXPECT_EQ(frames[2], "after");
}

TEST(TcpFrames, ManyWorkersAreToldApart) {
    Manager manager = listen();
    std::vector<Raw> workers;
    for (int i = 0; i < 100; ++i) {
        workers.push_back(Raw::to(manager->port()));
        ASSERT_TRUE(workers.back().join());
        workers.back().say_frame("I am " + std::to_string(i));
    }
    ASSERT_TRUE(manager.await_count<Frame>(100));
    std::map<PeerId, std::string> said;
    for (const Frame& frame : manager.all<Frame>()) said[frame.peer] = frame.bytes;
    ASSERT_EQ(said.size(), 100u);
    for (const auto& [peer, words] : said) manager->send(peer, "you said: " + words);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(workers[static_cast<std::size_t>(i)].hear_words(), "you said: I am " + std::to_string(i));
}

TEST(TcpFrames, EmptyOnesAreNobodysAndOnesToStrangersAreDropped) {
    Manager manager = listen();
    Worker worker = dial(to_port(manager->port()));
    const PeerId peer = manager.first_peer();
    manager->send(PeerId(77), "to nobody");
    manager->send(peer, "");
    manager->send(peer, "to you");
    ASSERT_TRUE(worker.await_count<Frame>(1));
    EXPECT_THAT(worker.frames(), ElementsAre("to you"));
    EXPECT_TRUE(manager.await([&] { return manager->idle(); }));
}

TEST(TcpFrames, SentBeforeACloseTheyArriveAndThenNothing) {
    Manager manager = listen();
    Worker worker = dial(to_port(manager->port()));
    const PeerId peer = manager.first_peer();
    worker.await_count<Joined>(1);
    const std::string large = patterned(5u << 20, 3);
    // The manager never reads what the worker sends meanwhile: that must not destroy frames in flight.
    for (int i = 0; i < 100; ++i) worker->send(TcpDialer::manager, patterned(10'000, 5));
    manager->send(peer, large);
    manager->send(peer, "you are refused");
    manager->close(peer);
    EXPECT_THAT(worker.why(), HasSubstr("closed"));
    ASSERT_EQ(worker.frames().size(), 2u);
    EXPECT_TRUE(worker.frames()[0] == large);
    EXPECT_EQ(worker.frames()[1], "you are refused");
    manager.arrivals.clear();
    EXPECT_TRUE(manager.await([&] { return manager->idle(); }));
    manager->poll(manager.arrivals);
    EXPECT_THAT(manager.arrivals, IsEmpty()) << "nothing of a closed peer, not even its Left";
}

TEST(TcpFrames, SentBeforeTheEndOfATransportTheyArrive) {
    Manager manager = listen();
    Worker worker = dial(to_port(manager->port()));
    const PeerId peer = manager.first_peer();
    worker.await_count<Joined>(1);
    worker->send(TcpDialer::manager, "goodbye");
    worker.reset();
    ASSERT_TRUE(manager.await_count<Left>(1));
    EXPECT_THAT(manager.frames(), ElementsAre("goodbye"));
    EXPECT_EQ(manager.all<Left>()[0].peer, peer);
    EXPECT_EQ(manager.all<Left>()[0].why, "it closed the connection");
}

TEST(TcpFrames, ThePeerOfANewConnectionIsANewOne) {
    Manager manager = listen();
    dial(to_port(manager->port())).await_count<Joined>(1);
    Worker again = dial(to_port(manager->port()));
    again.await_count<Joined>(1);
    ASSERT_TRUE(manager.await_count<Joined>(2));
    EXPECT_NE(manager.all<Joined>()[0].peer, manager.all<Joined>()[1].peer);
}

TEST(TcpFrames, ACallerThatDoesNotPollStopsTheReadingAndLosesNothing) {
    TcpListenOptions options = on_loopback();
    options.limits.most_undelivered_bytes = 1u << 20;
    Manager manager = listen(std::move(options));
    Worker worker = dial(to_port(manager->port()));
    worker.await_count<Joined>(1);
    const std::string frame = patterned(100'000, 9);
    const std::size_t count = 1000;  // 100 MB: far more than the limit and the kernel's buffers
    for (std::size_t i = 0; i < count; ++i) worker->send(TcpDialer::manager, frame);
    // The worker cannot send everything while nobody receives; the keep-alive of the other link shows that
    // the manager's thread works.
    Worker other = dial(to_port(manager->port()));
    ASSERT_TRUE(other.await_count<Joined>(1));
    EXPECT_FALSE(worker->idle());
    ASSERT_TRUE(manager.await_count<Frame>(count));
    for (const Frame& each : manager.all<Frame>()) ASSERT_TRUE(each.bytes == frame);
    EXPECT_TRUE(worker.await([&] { return worker->idle(); }));
}

}  // namespace
}  // namespace wq::net::frames

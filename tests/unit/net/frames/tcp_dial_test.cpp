// The manager's ports and the worker's addresses.
#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

TcpListenOptions on_ports(std::uint16_t low, std::uint16_t high) {
    TcpListenOptions options = on_loopback();
    options.low_port = low;
    options.high_port = high;
    return options;
}

// ---- the manager's port ----

TEST(TcpPort, InUseIsNamedWithTheRemedy) {
    Manager first = listen();
    const auto second = TcpListener::open(on_ports(first->port(), first->port()));
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().message,
              "port " + std::to_string(first->port()) +
                  " is in use on this machine: choose another, or 0 for any free one");
    EXPECT_EQ(second.error().code, ExitCode::unreachable);
}

TEST(TcpPort, TheFirstFreeOneOfARangeIsTaken) {
    Manager first = listen();
    const std::uint16_t taken = first->port();
    if (taken > 65000) GTEST_SKIP() << "no range above port " << taken;
    Manager second = listen(on_ports(taken, static_cast<std::uint16_t>(taken + 200)));
    EXPECT_GT(second->port(), taken);
    EXPECT_LE(second->port(), taken + 200);
    Worker worker = dial(to_port(second->port()));
    EXPECT_TRUE(worker.await_count<Joined>(1));
    const auto none = TcpListener::open(on_ports(taken, taken));
    EXPECT_FALSE(none.ok());
}

TEST(TcpPort, ARangeWithoutAFreeOneIsNamed) {
    // Two adjacent ports that are both in use: the second try usually finds them.
    for (int i = 0; i < 100; ++i) {
        Manager first = listen();
        const auto port = static_cast<std::uint16_t>(first->port() + 1);
        const auto second = port == 0 ? TcpListener::open({}) : TcpListener::open(on_ports(port, port));
        if (!second.ok()) continue;
        const auto third = TcpListener::open(on_ports(first->port(), port));
        ASSERT_FALSE(third.ok());
        EXPECT_THAT(third.error().message, AllOf(HasSubstr("no port from " + std::to_string(first->port()) +
                                                           " to " + std::to_string(port) + " is free"),
                                                 HasSubstr("widen the range")));
        return;
    }
    FAIL() << "no two neighbouring ports";
}

TEST(TcpPort, AddressesThatAreNotOursAreRefused) {
    TcpListenOptions options;
    options.bind = {"192.0.2.1"};  // from the documentation network
    EXPECT_EQ(TcpListener::open(options).error().message, "192.0.2.1 is not an address of this machine");
    options.bind = {"localhost"};
    EXPECT_THAT(TcpListener::open(options).error().message, HasSubstr("no numeric address"));
    EXPECT_THAT(TcpListener::open(on_ports(10, 9)).error().message, HasSubstr("the range of ports is empty"));
}

TEST(TcpPort, OfSeveralAddressesItIsTheSame) {
    TcpListenOptions options;
    options.bind = {"127.0.0.1", "127.0.0.2"};
    Manager manager = listen(options);
    for (const std::string host : {"127.0.0.1", "127.0.0.2"}) {
        TcpDialOptions dialing;
        dialing.managers = {{host, manager->port()}};
        Worker worker = dial(dialing);
        EXPECT_TRUE(worker.await_count<Joined>(1)) << host;
    }
}

TEST(TcpPort, OwnAddressesReachAManagerAndTheLoopbackIsLast) {
    const std::vector<std::string> own = own_addresses();
    ASSERT_THAT(own, Contains("127.0.0.1"));
    EXPECT_TRUE(own.back() == "::1" || own.back().starts_with("127.")) << own.back();
    Manager manager = listen({});
    for (const std::string& host : own) {
        TcpDialOptions options;
        options.managers = {{host, manager->port()}};
        Worker worker = dial(options);
        EXPECT_TRUE(worker.await_count<Joined>(1)) << host << ": " << worker.why();
    }
}

// ---- the race ----

// A listener whose backlog is full drops connection attempts: to the worker it is a dead host.
class FullDoor {
  public:
    FullDoor() {
        ::listen(door_.descriptor(), 0);
        for (int i = 0; i < 4; ++i) {
            knocking_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            knocking_.back().connect(door_.port());
        }
    }
    std::uint16_t port() const { return door_.port(); }

  private:
    RawDoor door_;
    std::vector<Raw> knocking_;
};

TEST(TcpRace, ALiveAddressBesideDeadOnesWins) {
    DeadPort refused;
    RawDoor silent;  // accepts the connection and is silent
    Manager manager = listen();
    TcpDialOptions options;
    options.managers = {{"127.0.0.1", refused.port()},
                        {"127.0.0.1", silent.port()},
                        {"no-such-host.invalid", 1},
                        {"127.0.0.1", manager->port()}};
    options.stagger = 20ms;
    Worker worker = dial(options);
    ASSERT_TRUE(worker.await([&] { return !worker.arrivals.empty(); }));
    ASSERT_EQ(worker.all<Joined>().size(), 1u) << worker.why();
    EXPECT_EQ(worker.all<Joined>()[0].address, "127.0.0.1:" + std::to_string(manager->port()));
    worker->send(TcpDialer::manager, "here");
    ASSERT_TRUE(manager.await_count<Frame>(1));
    EXPECT_FALSE(worker->failure().has_value());
}

TEST(TcpRace, AnAddressThatNeverAnswersCostsOneStagger) {
    FullDoor full;
    Manager manager = listen();
    TcpDialOptions options;
    options.managers = {{"127.0.0.1", full.port()}, {"127.0.0.1", manager->port()}};
    options.connect = 1h;
    Worker worker = dial(options);
    ASSERT_TRUE(worker.await_count<Joined>(1));
    EXPECT_EQ(worker.all<Joined>()[0].address, "127.0.0.1:" + std::to_string(manager->port()));
}

TEST(TcpRace, WhenNoneAnswersEachAddressHasItsLine) {
    DeadPort refused;
    RawDoor silent;
    RawDoor rude;
    TcpDialOptions options;
    options.managers = {{"127.0.0.1", refused.port()},
                        {"127.0.0.1", silent.port()},
                        {"no-such-host.invalid", 9123},
                        {"127.0.0.1", rude.port()},
                        {"127.0.0.1", refused.port()}};  // once is enough
    options.stagger = 10ms;
    options.limits.handshake = 300ms;
    Worker worker = dial(options);
    rude.accept().say("HTTP/1.0 400 Bad Request\r\n");
    const std::vector<std::string> lines = lines_of(worker.why());
    const std::string host = "127.0.0.1:";
    EXPECT_THAT(lines,
                ::testing::UnorderedElementsAre(
                    host + std::to_string(refused.port()) + ": Connection refused",
                    AllOf(HasSubstr(host + std::to_string(silent.port())),
                          HasSubstr("nothing received within"), EndsWith("; is this a Work Queue manager?")),
                    AllOf(HasSubstr("no-such-host.invalid:9123"), HasSubstr("its address is unknown")),
                    AllOf(HasSubstr(host + std::to_string(rude.port())), HasSubstr("it speaks HTTP"))));
    EXPECT_EQ(worker->failure()->message, worker.why());
    EXPECT_EQ(worker.arrivals.size(), 1u);
}

TEST(TcpRace, OfManyAddressesSomeAreListed) {
    std::vector<DeadPort> refused(20);
    TcpDialOptions options;
    for (const DeadPort& port : refused) options.managers.push_back({"127.0.0.1", port.port()});
    options.stagger = 1ms;
    Worker worker = dial(options);
    const std::vector<std::string> lines = lines_of(worker.why());
    ASSERT_EQ(lines.size(), 9u);
    EXPECT_EQ(lines.back(), "and 12 more addresses");
}

TEST(TcpRace, AddressesThatNeverAnswerAreGivenUpEachWithItsLine) {
    FullDoor first;
    FullDoor second;
    TcpDialOptions options;
    options.managers = {{"127.0.0.1", first.port()}, {"127.0.0.1", second.port()}};
    options.stagger = 10ms;
    options.connect = 300ms;
    options.limits.handshake = 1h;
    Worker worker = dial(options);
    const auto line = [](const FullDoor& door) {
        return "127.0.0.1:" + std::to_string(door.port()) + ": no answer within 0.30s";
    };
    EXPECT_THAT(lines_of(worker.why()), ::testing::UnorderedElementsAre(line(first), line(second)));
    EXPECT_EQ(worker->failure()->code, ExitCode::unreachable);
    EXPECT_EQ(worker.arrivals.size(), 1u);
}

TEST(TcpRace, ANameIsResolved) {
    Manager manager = listen({});
    TcpDialOptions options;
    options.managers = {{"localhost", manager->port()}};
    Worker worker = dial(options);
    ASSERT_TRUE(worker.await_count<Joined>(1)) << worker.why();
    EXPECT_THAT(worker.all<Joined>()[0].address, HasSubstr("localhost at "));
}

TEST(TcpRace, WhoStopsBeforeTheAnswerWaitsForNothing) {
    for (int i = 0; i < 20; ++i) {
        TcpDialOptions options;
        options.managers = {{"no-such-host.invalid", 1}, {"192.0.2.1", 9}, {"localhost", 9}};
        dial(options);
    }
}

TEST(TcpRace, NobodyToDialIsTold) {
    Worker worker = dial({});
    EXPECT_EQ(worker.why(), "the address of the manager is missing");
}

// ---- addresses as users write them ----

TEST(TcpAddresses, AreRead) {
    const auto read = [](const std::string& text, std::uint16_t port = 0) {
        std::vector<std::string> found;
        for (const HostPort& each : parse_addresses(text, port).or_throw()) found.push_back(to_text(each));
        return found;
    };
    EXPECT_THAT(read("node3:9123"), ElementsAre("node3:9123"));
    EXPECT_THAT(read("a:1;b.example:65535;10.0.0.7:9123"),
                ElementsAre("a:1", "b.example:65535", "10.0.0.7:9123"));
    EXPECT_THAT(read("[fe80::1%eth0]:9123"), ElementsAre("[fe80::1%eth0]:9123"));
    EXPECT_THAT(read("node3;::1;[::2];x:5", 9123),
                ElementsAre("node3:9123", "[::1]:9123", "[::2]:9123", "x:5"));
    EXPECT_THAT(read("a:1;"), ElementsAre("a:1"));
}

TEST(TcpAddresses, AreRefusedWithTheReason) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "the host is missing"},      {";", "the host is missing"},
        {":9123", "the host is missing"}, {"node3", "the port is missing"},
        {"::1", "the port is missing"},   {"node3:", "from 1 to 65535"},
        {"node3:0", "from 1 to 65535"},   {"node3:65536", "from 1 to 65535"},
        {"node3:-1", "from 1 to 65535"},  {"node3:1x", "from 1 to 65535"},
        {"[::1:9", "']' is missing"},     {"[::1]9", "from 1 to 65535"},
        {"[]:9", "the host is missing"}};
    for (const auto& [text, why] : cases) {
        const auto read = parse_addresses(text);
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_THAT(read.error().message, HasSubstr(why)) << text;
        EXPECT_EQ(read.error().code, ExitCode::usage);
    }
    std::string many;
    for (int i = 0; i < 1001; ++i) many += "a:1;";
    EXPECT_FALSE(parse_addresses(many).ok());
}

}  // namespace
}  // namespace wq::net::frames

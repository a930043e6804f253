// Unauthenticated peers use little time, memory and few descriptors.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- time ----

TEST(TcpStrangers, WhoTricklesItsHandshakeIsDroppedInTheSameTime) {
    TcpListenOptions options = on_loopback();
    options.limits.handshake = 500ms;
    Manager manager = listen(std::move(options));
    Raw trickling = Raw::to(manager->port());
    const std::string hello = framed(Handshake(Role::worker, {}, {}, fresh_nonce()).hello());
    std::size_t said = 0;
    // A byte whenever a fiftieth of the limit has passed: the hello is never complete in time.
    for (Instant next = instant_now(); said < hello.size() && manager->counts().refused == 0;) {
        manager.await([&] { return instant_now() >= next; });
        trickling.say(hello.substr(said++, 1));
        next = instant_now() + 50ms;
    }
    EXPECT_THAT(note_of(manager), HasSubstr("no complete handshake within 0.5"));
    EXPECT_LT(said, hello.size());
    EXPECT_THAT(trickling.hear_all(), HasSubstr("no handshake within"));
}

// ---- memory ----

TEST(TcpStrangers, WhoIsNotAdmittedSendsSmallFramesOnly) {
    TcpListenOptions options = on_loopback();
    options.limits.most_frame_bytes_before_admit = 1000;
    Manager manager = listen(std::move(options));
    manager.admits = false;
    Raw small = Raw::to(manager->port());
    ASSERT_TRUE(small.join());
    small.say_frame(std::string(1000, 'x'));
    ASSERT_TRUE(manager.await_count<Frame>(1));
    const auto head = frame_head(1001);
    small.say({head.data(), head.size()});
    EXPECT_THAT(manager.why(), HasSubstr("a frame of 1001 bytes; the most is 1000 before the handshake"));
}

TEST(TcpStrangers, WhoIsAdmittedSendsLargeOnes) {
    TcpListenOptions options = on_loopback();
    options.limits.most_frame_bytes_before_admit = 1000;
    Manager manager = listen(std::move(options));
    Worker worker = dial(to_port(manager->port()));
    manager->admit(manager.first_peer());
    manager->send(manager.first_peer(), "you are admitted");
    ASSERT_TRUE(worker.await_count<Frame>(1));
    worker->send(TcpDialer::manager, std::string(1u << 20, 'x'));
    ASSERT_TRUE(manager.await_count<Frame>(1)) << manager.why();
    manager->admit(PeerId(77));  // nobody
}

// Sends a large frame from a thread: a link that is not read accepts what the kernel's buffers hold.
class Talker {
  public:
    Talker(std::uint16_t port, std::size_t bytes) : raw_(Raw::to(port)) {
        EXPECT_TRUE(raw_.join());
        thread_ = std::thread([this, bytes] { raw_.say_frame(std::string(bytes, 'x')); });
    }
    ~Talker() {
        ::shutdown(raw_.get(), SHUT_RDWR);
        thread_.join();
    }

  private:
    Raw raw_;
    std::thread thread_;
};

TEST(TcpStrangers, HalfFramesOfAllTogetherAreBoundedAndAllComeWholeInTheEnd) {
    constexpr std::size_t bytes = 8u << 20;
    constexpr std::size_t count = 12;
    TcpListenOptions options = on_loopback();
    options.limits.most_half_received_bytes = 8u << 20;
    options.limits.most_frame_bytes_before_admit = 16u << 20;
    Manager manager = listen(std::move(options));
    std::vector<std::unique_ptr<Talker>> talkers;
    // One uses up the memory: its frame is announced and half sent.
    Raw first = Raw::to(manager->port());
    ASSERT_TRUE(first.join());
    ASSERT_TRUE(manager.await_count<Joined>(1));
    const auto head = frame_head(bytes);
    first.say({head.data(), head.size()});
    first.say(std::string(2u << 20, 'x'));
    for (std::size_t i = 1; i < count; ++i)
        talkers.push_back(std::make_unique<Talker>(manager->port(), bytes));
    ASSERT_TRUE(manager.await_count<Joined>(count));
    // Small frames pass meanwhile, which also shows that the others had their turn to be read.
    Raw small = Raw::to(manager->port());
    ASSERT_TRUE(small.join());
    const auto small_ones = [&] {
        return std::count_if(manager.arrivals.begin(), manager.arrivals.end(), [](const Arrival& arrival) {
            const auto* frame = std::get_if<Frame>(&arrival);
            return frame != nullptr && frame->bytes == "small";
        });
    };
    for (std::ptrdiff_t i = 1; i <= 100; ++i) {
        small.say_frame("small");
        ASSERT_TRUE(manager.await([&] { return small_ones() == i; }));
    }
    first.say(std::string(bytes - (2u << 20), 'x'));
    ASSERT_TRUE(manager.await_count<Frame>(100 + count));
    EXPECT_TRUE(manager.all<Left>().empty());
    std::size_t whole = 0;
    for (const Frame& frame : manager.all<Frame>()) whole += frame.bytes.size() == bytes ? 1 : 0;
    EXPECT_EQ(whole, count);
}

TEST(TcpStrangers, WhoseFrameIsWholeGivesWayEvenIfItsNextOneHasBegun) {
    constexpr std::size_t bytes = (8u << 20) + 77;
    TcpListenOptions options = on_loopback();
    options.limits.most_half_received_bytes = 1u << 20;
    options.limits.most_frame_bytes_before_admit = 16u << 20;
    Manager manager = listen(std::move(options));
    Raw first = Raw::to(manager->port());
    ASSERT_TRUE(first.join());
    const std::string frame = framed(std::string(bytes, 'x'));
    first.say(frame.substr(0, 3u << 20));
    ASSERT_TRUE(manager.await_count<Joined>(1));
    Talker second(manager->port(), 8u << 20);
    ASSERT_TRUE(manager.await_count<Joined>(2));
    first.say(frame.substr(3u << 20) + frame.substr(0, 100'000));
    EXPECT_TRUE(manager.await_count<Frame>(2)) << "the second one waits for a frame that nobody waits for";
    first.say(frame.substr(100'000));
    EXPECT_TRUE(manager.await_count<Frame>(3));
}

// A trickle that would last for weeks.
TEST(TcpStrangers, WhoBringsLittleHoldsNobodyUp) {
    TcpListenOptions options = on_loopback();
    options.limits.most_half_received_bytes = 1u << 20;
    options.limits.most_frame_bytes_before_admit = 16u << 20;
    Manager manager = listen(std::move(options));
    const auto head = frame_head(16u << 20);
    std::vector<Raw> slow;
    for (std::size_t i = 1; i <= 4; ++i) {  // each is slow with less than the limit, all together have more
        slow.push_back(Raw::to(manager->port()));
        ASSERT_TRUE(slow.back().join());
        ASSERT_TRUE(manager.await_count<Joined>(i));
        slow.back().say({head.data(), head.size()});
        slow.back().say(std::string(300u << 10, 'x'));
    }
    Talker brisk(manager->port(), 16u << 20);
    ASSERT_TRUE(manager.await_count<Joined>(5));
    const PeerId last = manager.all<Joined>().back().peer;
    const Instant limit = instant_now() + patience / 2;
    manager.await([&] {
        for (Raw& each : slow) each.say("x");
        return manager.all<Frame>().size() == 1 || instant_now() > limit;
    });
    ASSERT_EQ(manager.all<Frame>().size(), 1u);
    EXPECT_EQ(manager.all<Frame>().front().peer, last);
    for (const Left& left : manager.all<Left>()) EXPECT_NE(left.peer, last);
}

TEST(TcpStrangers, WhoHoldsTheMemoryAndBringsNothingIsCut) {
    TcpListenOptions options = on_loopback();
    options.limits.most_half_received_bytes = 1u << 20;
    options.limits.most_frame_bytes_before_admit = 16u << 20;
    Manager manager = listen(std::move(options));
    Raw first = Raw::to(manager->port());
    ASSERT_TRUE(first.join());
    const auto head = frame_head(8u << 20);
    first.say({head.data(), head.size()});
    first.say(std::string(3u << 20, 'x'));
    ASSERT_TRUE(manager.await_count<Joined>(1));
    Talker second(manager->port(), 8u << 20);
    ASSERT_TRUE(manager.await_count<Joined>(2));
    EXPECT_THAT(manager.why(), HasSubstr("arrives too slowly for the memory"));
    EXPECT_EQ(manager.all<Left>().front().peer, manager.all<Joined>().front().peer);
    EXPECT_TRUE(manager.await_count<Frame>(1));
}

// ---- descriptors ----

// A manager in a separate process with few descriptors, which serves until somebody says bye. It exits with 0
// if it could open files all the time.
class SmallManager {
  public:
    explicit SmallManager(rlim_t descriptors) {
        EXPECT_EQ(pipe(ports_), 0);
        child_ = fork();
        if (child_ == 0) _exit(serve(descriptors));
        EXPECT_EQ(read(ports_[0], &port_, sizeof port_), static_cast<ssize_t>(sizeof port_));
    }
    ~SmallManager() {
        close(ports_[0]);
        close(ports_[1]);
    }
    std::uint16_t port() const { return port_; }
    int end(Raw& worker) {
        worker.say_frame("bye");
        int status = 0;
        waitpid(child_, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

  private:
    int serve(rlim_t descriptors) {
        const rlimit few{descriptors, descriptors};
        setrlimit(RLIMIT_NOFILE, &few);
        TcpListenOptions options = on_loopback();
        options.limits.handshake = 10min;
        Manager manager = listen(std::move(options));
        const std::uint16_t port = manager->port();
        static_cast<void>(!write(ports_[1], &port, sizeof port));
        bool files = true;
        const bool ended = manager.await([&] {
            const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            files = files && file >= 0;
            ::close(file);
            for (const Frame& frame : manager.all<Frame>())
                manager->send(frame.peer, "served " + frame.bytes);
            const bool over = manager.frames() == std::vector<std::string>{"bye"};
            manager.arrivals.clear();
            return over;
        });
        return !ended ? 1 : files ? 0 : 2;
    }

    int ports_[2] = {-1, -1};
    pid_t child_ = -1;
    std::uint16_t port_ = 0;
};

TEST(TcpStrangers, AFloodOfSilentConnectionsKeepsNobodyOut) {
    constexpr std::size_t flood = 500;
    SmallManager manager(64);
    std::vector<Raw> silent;
    for (std::size_t i = 0; i < flood / 2; ++i) silent.push_back(Raw::to(manager.port()));
    Raw worker = Raw::to(manager.port());
    ASSERT_TRUE(worker.join());
    for (std::size_t i = 0; i < flood / 2; ++i) silent.push_back(Raw::to(manager.port()));
    Raw second = Raw::to(manager.port());
    ASSERT_TRUE(second.join());
    EXPECT_THAT(silent.front().hear_all(), HasSubstr("too many others are in their handshake"));
    worker.say_frame("me");
    EXPECT_EQ(worker.hear_words(), "served me");
    EXPECT_EQ(manager.end(second), 0);
}

TEST(TcpStrangers, SoDoesOneOfBabblersWhoStayToHearTheReason) {
    SmallManager manager(64);
    std::vector<Raw> babbling;
    for (std::size_t i = 0; i < 300; ++i) {
        babbling.push_back(Raw::to(manager.port()));
        babbling.back().say("GET / HTTP/1.1\r\n\r\n");
    }
    Raw worker = Raw::to(manager.port());
    ASSERT_TRUE(worker.join());
    EXPECT_EQ(manager.end(worker), 0);
}

TEST(TcpStrangers, WorkersTakeNotTheLastDescriptors) {
    SmallManager manager(64);
    std::vector<Raw> workers;
    while (workers.size() < 64) {
        Raw next = Raw::to(manager.port());
        Handshake handshake(Role::worker, {}, {}, fresh_nonce());
        const bool joined = next.shake_hands(handshake);
        if (!joined) {
            EXPECT_THAT(handshake.failure().message, HasSubstr("busy: the manager has no descriptor left"));
            break;
        }
        workers.push_back(std::move(next));
    }
    EXPECT_GT(workers.size(), 20u);
    EXPECT_LT(workers.size(), 64u - 8);
    EXPECT_EQ(manager.end(workers.front()), 0);
}

}  // namespace
}  // namespace wq::net::frames

// Misbehaving peers lose their own connection and do not affect others.
#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// After the fault: a new worker joins and is served.
void expect_service(Manager& manager) {
    TcpDialOptions options = to_port(manager->port());
    options.limits.handshake = 10min;
    Worker worker = dial(std::move(options));
    ASSERT_TRUE(worker.await_count<Joined>(1)) << worker.why();
    worker->send(TcpDialer::manager, "service");
    // Checks only new arrivals: a flooding peer's are millions.
    std::size_t looked_at = 0;
    EXPECT_TRUE(manager.await([&] {
        for (; looked_at < manager.arrivals.size(); ++looked_at) {
            const auto* frame = std::get_if<Frame>(&manager.arrivals[looked_at]);
            if (frame != nullptr && frame->bytes == "service") return true;
        }
        return false;
    }));
    manager.arrivals.clear();
}

TEST(TcpFaults, KeepAlivesComeOnAnIdleLinkAndKeepIt) {
    TcpListenOptions options = on_loopback();
    options.limits.keep_alive = 50ms;
    options.limits.silence = 1500ms;
    Manager manager = listen(std::move(options));
    Raw worker = Raw::to(manager->port());
    ASSERT_TRUE(worker.join());
    for (int i = 0; i < 60; ++i) {  // 3 s at least
        ASSERT_EQ(worker.hear_frame(), "");
        worker.say_frame("");
    }
    worker.say_frame("still here");
    ASSERT_TRUE(manager.await_count<Frame>(1));
    EXPECT_THAT(manager.frames(), ElementsAre("still here"));
    EXPECT_TRUE(manager.all<Left>().empty());
}

TEST(TcpFaults, AnIdleLinkOfBothEndsLivesLongerThanTheSilence) {
    TcpListenOptions options = on_loopback();
    options.limits.keep_alive = 100ms;
    options.limits.silence = 1s;
    TcpDialOptions dialing;
    dialing.limits = options.limits;
    Manager manager = listen(std::move(options));
    dialing.managers = {{"127.0.0.1", manager->port()}};
    Worker worker = dial(dialing);
    ASSERT_TRUE(worker.await_count<Joined>(1));
    const Instant until = instant_now() + 3s;  // the test is that nothing happens
    worker.await([&] { return instant_now() > until; });
    worker->send(TcpDialer::manager, "still here");
    EXPECT_TRUE(manager.await_count<Frame>(1));
}

TEST(TcpFaults, ASilentPeerIsLost) {
    TcpListenOptions options = on_loopback();
    options.limits.keep_alive = 50ms;
    options.limits.silence = 300ms;
    Manager manager = listen(std::move(options));
    Raw worker = Raw::to(manager->port());
    ASSERT_TRUE(worker.join());
    EXPECT_THAT(manager.why(), HasSubstr("it was silent for 0.3"));
    expect_service(manager);
}

TEST(TcpFaults, TheSilenceMayChangeWhileAPeerIsThere) {
    Manager manager = listen();  // it would be lost after 30 s
    Raw worker = Raw::to(manager->port());
    ASSERT_TRUE(worker.join());
    manager.first_peer();
    manager->set_silence(300ms);
    EXPECT_THAT(manager.why(), HasSubstr("it was silent for 0.3"));
}

TEST(TcpFaults, APeerThatClosesIsToldFromOneThatResets) {
    for (const bool resets : {false, true}) {
        Manager manager = listen();
        Raw worker = Raw::to(manager->port());
        ASSERT_TRUE(worker.join());
        manager.first_peer();
        const linger at_once{1, 0};
        if (resets) setsockopt(worker.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        worker.hang_up();
        ASSERT_TRUE(manager.await_count<Left>(1));
        EXPECT_EQ(manager.all<Left>().front().closed, !resets) << manager.why();
    }
}

// Whoever closes says before that it lives (messages::Keeps): an end without that must not look like its
// death.
TEST(TcpFaults, WhoCannotSendAllBeforeItClosesResets) {
    RawDoor door;
    TcpDialOptions options = to_port(door.port());
    options.limits.goodbye = 50ms;
    Worker worker = dial(options);
    Raw manager = door.accept();
    Handshake handshake(Role::manager, {}, {}, fresh_nonce());
    ASSERT_TRUE(manager.shake_hands(handshake));
    ASSERT_TRUE(worker.await_count<Joined>(1));
    worker->send(TcpDialer::manager, std::string(64u << 20, 'x'));  // more than the kernel takes
    worker->close(TcpDialer::manager);
    worker.reset();
    std::string buffer(1u << 20, '\0');
    ssize_t got = 0;
    while ((got = recv(manager.get(), buffer.data(), buffer.size(), 0)) > 0) {
    }
    EXPECT_LT(got, 0);
    EXPECT_EQ(errno, ECONNRESET);
}

TEST(TcpFaults, AManagerThatFallsSilentIsLost) {
    RawDoor door;
    TcpDialOptions options = to_port(door.port());
    options.limits.keep_alive = 50ms;
    options.limits.silence = 300ms;
    Worker worker = dial(options);
    Raw manager = door.accept();
    Handshake handshake(Role::manager, {}, {}, fresh_nonce());
    ASSERT_TRUE(manager.shake_hands(handshake));
    EXPECT_THAT(worker.why(), HasSubstr("it was silent for"));
    EXPECT_EQ(worker->failure()->code, ExitCode::unreachable);
}

// Whoever reads the bytes, and whenever.
TEST(TcpFaults, TheManagerWasHeardWhenItsBytesCame) {
    RawDoor door;
    TcpDialOptions options = to_port(door.port());
    options.limits.keep_alive = 20ms;
    Worker worker = dial(options);
    Raw manager = door.accept();
    Handshake handshake(Role::manager, {}, {}, fresh_nonce());
    ASSERT_TRUE(manager.shake_hands(handshake));
    ASSERT_TRUE(worker.await_count<Joined>(1));
    const Instant joined = instant_now();
    worker.await([&] { return instant_now() > joined + 100ms; });
    EXPECT_LE(worker->last_heard().at, joined + 10ms)
        << "it has said nothing since; a tick of the kernel is allowed";
    const Instant before = instant_now();
    manager.say_frame("");
    EXPECT_TRUE(worker.await([&] { return worker->last_heard().at + 10ms >= before; }));
    const Instant heard = worker->last_heard().at;
    manager.hang_up();
    worker.why();
    EXPECT_LE(worker->last_heard().at, heard + 20ms);
}

TEST(TcpFaults, AsLongAsItIsNotReadNobodyLooksWhenTheManagerWasHeard) {
    RawDoor door;
    TcpDialOptions options = to_port(door.port());
    options.limits.keep_alive = 8ms;  // it checks four times as often
    options.limits.most_undelivered_bytes = 1u << 20;
    Worker worker = dial(options);
    Raw manager = door.accept();
    Handshake handshake(Role::manager, {}, {}, fresh_nonce());
    ASSERT_TRUE(manager.shake_hands(handshake));
    ASSERT_TRUE(worker.await_count<Joined>(1));
    const timeval limit{0, 500'000};
    setsockopt(manager.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const std::string flood = framed(std::string(1u << 20, 'x'));
    while (manager.say(flood)) {
    }
    const Heard heard = worker->last_heard();
    EXPECT_LT(heard.as_of, instant_now() - 300ms);
    EXPECT_TRUE(worker.await([&] { return worker->last_heard().as_of > heard.as_of; }));
}

TEST(TcpFaults, APeerThatReadsNothingIsCutAndItsFramesAreGone) {
    TcpListenOptions options = on_loopback();
    options.limits.stalled = 200ms;
    options.limits.most_unsent_bytes = 1u << 20;
    Manager manager = listen(std::move(options));
    Raw worker = Raw::to(manager->port());
    ASSERT_TRUE(worker.join());
    const PeerId peer = manager.first_peer();
    for (int i = 0; i < 50; ++i) manager->send(peer, std::string(1u << 20, 'x'));
    EXPECT_THAT(manager.why(), HasSubstr("it has received nothing for 0.2"));
    EXPECT_TRUE(manager.await([&] { return manager->idle(); }));
    expect_service(manager);
}

TEST(TcpFaults, GarbageIsToldApartAndAnsweredInWords) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "asked for the status in plain text"},
        {"GET / HTTP/1.1\r\nHost: work_queue.example\r\n\r\n", "asked by HTTP for something else"},
        {"SMTP\r\n", "it sent no frame"},
        {"SSH-2.0-OpenSSH_9.2\r\n", "it speaks SSH"},
        {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", "it speaks TLS and this end does not"},
        {std::string("\xff\xff\xff\xff\0\0", 6), "it sent no frame"},
        {framed("abc"), "not a worker: it sent 'abc'"},
        {framed(std::string(4000, 'x')), "not a worker"},
    };
    Manager manager = listen();
    for (const auto& [bytes, expected] : cases) {
        Raw stranger = Raw::to(manager->port());
        stranger.say(bytes);
        EXPECT_THAT(stranger.hear_all(), HasSubstr("work_queue")) << expected;
        EXPECT_THAT(note_of(manager), AllOf(HasSubstr("127.0.0.1:"), HasSubstr(expected)));
    }
    EXPECT_EQ(manager->counts().refused, cases.size());
    EXPECT_EQ(manager->counts().joined, 0u);
    expect_service(manager);
}

TEST(TcpFaults, AFrameThatIsTooLongEndsTheLink) {
    TcpListenOptions options = on_loopback();
    options.limits.most_frame_bytes = 10'000;
    Manager manager = listen(std::move(options));
    Raw worker = Raw::to(manager->port());
    ASSERT_TRUE(worker.join());
    worker.say_frame(std::string(10'000, 'x'));
    const auto head = frame_head(10'001);
    worker.say({head.data(), head.size()});
    EXPECT_THAT(manager.why(), HasSubstr("a frame of 10001 bytes; the most is 10000"));
    EXPECT_EQ(manager.frames().size(), 1u) << "what came before is delivered";
    expect_service(manager);
}

TEST(TcpFaults, SoDoesOneThatWeWereToSend) {
    TcpListenOptions options = on_loopback();
    options.limits.most_frame_bytes = 10'000;
    Manager manager = listen(std::move(options));
    Raw worker = Raw::to(manager->port());
    ASSERT_TRUE(worker.join());
    manager->send(manager.first_peer(), std::string(10'001, 'x'));
    EXPECT_THAT(manager.why(), HasSubstr("10001 bytes is too large to send"));
    EXPECT_TRUE(manager.await([&] { return manager->idle(); }));
}

TEST(TcpFaults, AFrameCutShortIsNotDelivered) {
    Manager manager = listen();
    Raw worker = Raw::to(manager->port());
    ASSERT_TRUE(worker.join());
    worker.say_frame("whole");
    const auto head = frame_head(100);
    worker.say({head.data(), head.size()});
    worker.say("half of it");
    worker.hang_up();
    EXPECT_THAT(manager.why(), HasSubstr("in the middle of a frame"));
    EXPECT_THAT(manager.frames(), ElementsAre("whole"));
}

TEST(TcpFaults, WhoSaysMuchThatIsNoHandshakeIsDropped) {
    TcpListenOptions options = on_loopback();
    options.limits.handshake = 10min;
    Manager manager = listen(std::move(options));
    Raw babbler = Raw::to(manager->port());
    while (babbler.say_frame("")) {  // keep-alives are no handshake
    }
    EXPECT_THAT(note_of(manager), HasSubstr("sent much data"));
    EXPECT_EQ(manager->counts().joined, 0u);
}

TEST(TcpFaults, WhoSaysNothingOrNotEnoughIsDroppedInTime) {
    TcpListenOptions options = on_loopback();
    options.limits.handshake = 300ms;
    Manager manager = listen(std::move(options));
    Raw silent = Raw::to(manager->port());
    EXPECT_THAT(silent.hear_all(), HasSubstr("no handshake within"));
    EXPECT_THAT(note_of(manager), HasSubstr("nothing received within"));

    Raw half = Raw::to(manager->port());
    const Handshake handshake(Role::worker, {}, {}, fresh_nonce());
    half.say_frame(handshake.hello());
    EXPECT_THAT(half.hear_all(), HasSubstr("no handshake within"));
    EXPECT_THAT(note_of(manager), HasSubstr("no complete handshake within"));
    EXPECT_EQ(manager->counts().joined, 0u);
}

TEST(TcpFaults, BeyondTheMostHandshakesTheOldestGoes) {
    TcpListenOptions options = on_loopback();
    options.most_handshakes = 10;
    options.limits.handshake = 10min;
    Manager manager = listen(std::move(options));
    std::vector<Raw> silent;
    for (int i = 0; i < 11; ++i) silent.push_back(Raw::to(manager->port()));
    silent.front().hear_all();  // ends
    EXPECT_THAT(note_of(manager), HasSubstr("too many others"));
    ASSERT_TRUE(silent.back().join());
    EXPECT_TRUE(manager.await_count<Joined>(1));
    EXPECT_EQ(manager->counts().refused, 1u);
}

TEST(TcpFaults, ABabblerDoesNotKeepOthersWaiting) {
    TcpListenOptions options = on_loopback();
    options.limits.handshake = 10min;  // sanitized, with the processors busy, one took 9 s
    Manager manager = listen(std::move(options));
    Raw babbler = Raw::to(manager->port());
    ASSERT_TRUE(babbler.join());
    const PeerId peer = manager.first_peer();
    // Far more frames than anybody takes; reading stops, and continues with each poll().
    const timeval limit{0, 1000};
    setsockopt(babbler.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const std::string words = framed("x");
    std::string flood;
    for (int i = 0; i < 100'000; ++i) flood += words;
    for (int i = 0; i < 100 && babbler.say(flood); ++i) {
    }
    expect_service(manager);
    manager->close(peer);
    expect_service(manager);
}

// Also while the clock ticks.
TEST(TcpFaults, WhatNobodyTakesIsNotReadEither) {
    TcpListenOptions options = on_loopback();
    options.limits.keep_alive = 8ms;  // it ticks four times as often
    options.limits.most_undelivered_bytes = 1u << 20;
    Manager manager = listen(std::move(options));
    Raw worker = Raw::to(manager->port());
    ASSERT_TRUE(worker.join());
    manager.first_peer();
    const timeval limit{0, 500'000};
    setsockopt(worker.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const std::string flood = framed(std::string(1u << 20, 'x'));
    int floods = 0;
    while (floods < 200 && worker.say(flood)) ++floods;
    EXPECT_LT(floods, 100) << "what the kernel holds is less than that";
    EXPECT_TRUE(manager.await_count<Frame>(static_cast<std::size_t>(floods)));
}

}  // namespace
}  // namespace wq::net::frames

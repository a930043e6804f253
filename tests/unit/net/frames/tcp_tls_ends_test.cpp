// TLS that breaks right after its own handshake, in the same bytes: what precedes the error is received, and
// only that connection is lost.
#include <malloc.h>

#include "net/frames/tls_channel.h"
#include "net/frames/tls_identity.h"
#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// A record of application data in TLS framing, but not encrypted.
std::string unsealed_record() {
    return std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
}

// The misbehaving end of TLS, on a bare socket.
class RawTls {
  public:
    RawTls(Raw& raw, std::shared_ptr<TlsContext> context)
        : raw_(raw), context_(std::move(context)), channel_(context_->channel({})) {}

    // Up to the bytes that end the handshake for the other side; these are not yet sent.
    std::string last_of_handshake() {
        channel_->start();
        for (;;) {
            std::string bytes = channel_->outgoing();
            if (channel_->established()) return bytes;
            raw_.say(bytes);
            const std::string heard = raw_.hear();
            if (heard.empty()) return {};
            channel_->take(heard, plain_);
        }
    }
    // A manager's only ones: the worker's handshake is over once it has received them.
    std::string answer_to_first() {
        channel_->start();
        channel_->take(raw_.hear(), plain_);
        return channel_->outgoing();
    }
    std::string sealed(std::string_view frame) {
        channel_->encrypt(framed(frame));
        return channel_->outgoing();
    }
    std::string end() {
        channel_->end();
        return channel_->outgoing();
    }
    std::string binding() const { return channel_->binding(); }

  private:
    Raw& raw_;
    std::shared_ptr<TlsContext> context_;
    std::unique_ptr<TlsChannel> channel_;
    std::string plain_;
};

class TcpTlsEnds : public ::testing::Test {
  protected:
    static Manager listen_with_tls() {
        TcpListenOptions options = on_loopback();
        options.tls = make_identity().or_throw();
        return listen(std::move(options));
    }
    // What a manager notes about a worker that sends this right after its handshake, then closes.
    std::string manager_notes(const std::function<std::string(RawTls&)>& behind) {
        Raw raw = Raw::to(manager_->port());
        RawTls tls(raw, TlsContext::of_worker({}).or_throw());
        const std::string last = tls.last_of_handshake();
        EXPECT_FALSE(last.empty());
        raw.say(last + behind(tls));
        ::shutdown(raw.get(), SHUT_WR);
        const std::string note = note_of(manager_);
        raw.hear_all();
        return note;
    }
    // Why a worker leaves a manager that sends this right after its handshake.
    static std::string worker_hears(const std::function<std::string(RawTls&)>& behind) {
        RawDoor door;
        TcpDialOptions options = to_port(door.port());
        options.tls = TlsTrust{};
        Worker worker = dial(options);
        Raw raw = door.accept();
        RawTls tls(raw, TlsContext::of_manager(make_identity().or_throw()).or_throw());
        raw.say(tls.last_of_handshake() + behind(tls));
        ::shutdown(raw.get(), SHUT_WR);
        return worker.why();
    }

    Manager manager_ = listen_with_tls();
};

std::string hello_of(Role role) {
    return Handshake(role, {}, {}, fresh_nonce()).hello();
}

TEST_F(TcpTlsEnds, GarbageBehindAWorkersHandshake) {
    EXPECT_THAT(manager_notes([](RawTls&) { return unsealed_record(); }), HasSubstr("TLS failed"));
    EXPECT_THAT(
        manager_notes([](RawTls& tls) { return tls.sealed(hello_of(Role::worker)) + unsealed_record(); }),
        HasSubstr("TLS failed"));
    EXPECT_THAT(manager_notes([](RawTls& tls) { return tls.sealed("no hello") + unsealed_record(); }),
                HasSubstr("not a worker: it sent 'no hello'"));
    EXPECT_EQ(manager_->counts().joined, 0u);
}

TEST_F(TcpTlsEnds, TheEndBehindAWorkersHandshake) {
    const auto ended = AnyOf(HasSubstr("closed the connection"), HasSubstr("reset"));
    EXPECT_THAT(manager_notes([](RawTls&) { return std::string(); }), ended);
    EXPECT_THAT(manager_notes([](RawTls& tls) { return tls.end(); }), ended);
    EXPECT_THAT(manager_notes([](RawTls& tls) { return tls.sealed(hello_of(Role::worker)) + tls.end(); }),
                ended);
    EXPECT_EQ(manager_->counts().joined, 0u);
}

TEST_F(TcpTlsEnds, GarbageInPlaceOfAWorkersHandshake) {
    for (const std::string& bytes : {std::string("\x16\x03\x01\x00\x05hello", 10), unsealed_record(),
                                     std::string("\x15\x03\x03\x00\x02\x02\x28", 7)}) {
        Raw raw = Raw::to(manager_->port());
        raw.say(bytes);
        EXPECT_THAT(note_of(manager_), HasSubstr("TLS failed"));
    }
}

// A TLS state takes 46 KB: thousands of strangers who never end their first record would take hundreds of MB.
TEST_F(TcpTlsEnds, WhoHasNotSentAWholeRecordTakesLittleMemory) {
    constexpr std::size_t count = 300;
    const auto worker = TlsContext::of_worker({}).or_throw()->channel({});
    worker->start();
    const std::string hello = worker->outgoing();
    const auto used = [] { return static_cast<std::int64_t>(mallinfo2().uordblks); };
    const std::int64_t before = used();
    std::vector<Raw> strangers;
    for (std::size_t i = 0; i < count; ++i) {
        strangers.push_back(Raw::to(manager_->port()));
        strangers.back().say(hello.substr(0, i % hello.size()));
    }
    ASSERT_TRUE(manager_.await([&] { return manager_->counts().accepted == count; }));
    EXPECT_LT(used() - before, static_cast<std::int64_t>(count * 16'000));
    // In two parts it is as good as whole.
    strangers.back().say(hello.substr((count - 1) % hello.size()));
    EXPECT_FALSE(strangers.back().hear().empty());
}

// Else this test would take ten minutes.
TEST_F(TcpTlsEnds, AManagerThatEndsWaitsForNoStranger) {
    TcpListenOptions options = on_loopback();
    options.tls = make_identity().or_throw();
    options.limits.goodbye = 10min;
    Manager manager = listen(std::move(options));
    const Raw silent = Raw::to(manager->port());
    Raw begins = Raw::to(manager->port());
    begins.say("\x16\x03");
    Raw refused = Raw::to(manager->port());
    refused.say("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(manager.await([&] { return manager->counts().refused == 1; }));
}

TEST_F(TcpTlsEnds, WhoHangsUpAtOnceBehindItsHandshake) {
    for (int i = 0; i < 20; ++i) {
        Raw raw = Raw::to(manager_->port());
        RawTls tls(raw, TlsContext::of_worker({}).or_throw());
        raw.say(tls.last_of_handshake() + unsealed_record());
        raw.hang_up();
        note_of(manager_);
    }
    TcpDialOptions options = to_port(manager_->port());
    options.tls = TlsTrust{};
    Worker worker = dial(options);
    EXPECT_TRUE(worker.await_count<Joined>(1));
}

TEST_F(TcpTlsEnds, GarbageBehindAManagersHandshake) {
    EXPECT_THAT(worker_hears([](RawTls&) { return unsealed_record(); }), HasSubstr("TLS failed"));
    EXPECT_THAT(
        worker_hears([](RawTls& tls) { return tls.sealed(hello_of(Role::manager)) + unsealed_record(); }),
        HasSubstr("TLS failed"));
    EXPECT_THAT(worker_hears([](RawTls& tls) { return tls.end(); }), HasSubstr("closed the connection"));
}

TEST_F(TcpTlsEnds, GarbageInTheSameBytesAsAManagersHandshake) {
    RawDoor door;
    TcpDialOptions options = to_port(door.port());
    options.tls = TlsTrust{};
    Worker worker = dial(options);
    Raw raw = door.accept();
    RawTls tls(raw, TlsContext::of_manager(make_identity().or_throw()).or_throw());
    raw.say(tls.answer_to_first() + unsealed_record());
    EXPECT_THAT(worker.why(), HasSubstr("TLS failed"));
}

}  // namespace
}  // namespace wq::net::frames

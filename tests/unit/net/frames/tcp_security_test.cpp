// Keys, versions, TLS, and attackers between the ends.
#include <fstream>
#include <thread>

#include "net/frames/contact.h"
#include "net/frames/tls_channel.h"
#include "net/frames/tls_identity.h"
#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Manager listen_with(const std::string& key, std::optional<TlsIdentity> tls = {}) {
    TcpListenOptions options = on_loopback();
    options.key = key;
    options.tls = std::move(tls);
    return listen(std::move(options));
}

TcpDialOptions with(std::uint16_t port, const std::string& key, std::optional<TlsTrust> tls = {}) {
    TcpDialOptions options = to_port(port);
    options.key = key;
    options.tls = std::move(tls);
    return options;
}

TlsIdentity identity() {
    return make_identity().or_throw();
}

void expect_talk(Manager& manager, Worker& worker) {
    ASSERT_TRUE(worker.await([&] { return !worker.arrivals.empty(); }));
    ASSERT_EQ(worker.all<Joined>().size(), 1u) << worker.why();
    const std::string large(3u << 20, 'l');
    worker->send(TcpDialer::manager, "up");
    manager->send(manager.first_peer(), large);
    ASSERT_TRUE(manager.await_count<Frame>(1));
    ASSERT_TRUE(worker.await_count<Frame>(1));
    EXPECT_THAT(manager.frames(), ElementsAre("up"));
    EXPECT_TRUE(worker.frames()[0] == large);
}

void expect_refused(Manager& manager, const TcpDialOptions& options, const std::string& here,
                    const std::string& there) {
    Worker worker = dial(options);
    EXPECT_THAT(worker.why(), HasSubstr(here));
    EXPECT_EQ(worker->failure()->code, ExitCode::not_allowed);
    EXPECT_TRUE(worker.all<Joined>().empty());
    EXPECT_THAT(note_of(manager), HasSubstr(there));
    EXPECT_EQ(manager->counts().joined, 0u);
    EXPECT_THAT(manager.arrivals, IsEmpty());
}

// ---- keys ----

TEST(TcpKeys, TheSameOnBothSides) {
    const std::string key("verbatim\n\0and binary", 20);
    Manager manager = listen_with(key);
    Worker worker = dial(with(manager->port(), key));
    expect_talk(manager, worker);
    EXPECT_EQ(worker->security(), "no TLS, key");
}

TEST(TcpKeys, AWrongOneIsToldOnBothSides) {
    Manager manager = listen_with("right");
    expect_refused(manager, with(manager->port(), "wrong"), "the manager refused: wrong key",
                   "the worker has a different key");
}

TEST(TcpKeys, OnlyOneSideHasOne) {
    Manager locked = listen_with("right");
    expect_refused(locked, with(locked->port(), ""), "the manager asks for a key and got none",
                   "the manager asks for a key and got none");
    Manager open = listen_with("");
    expect_refused(open, with(open->port(), "mine"), "the manager has no key and got one",
                   "the manager has no key and got one");
}

TEST(TcpKeys, ANewOneEndsWhatBeganWithoutIt) {
    Manager manager = listen_with("");
    Worker early = dial(with(manager->port(), ""));
    ASSERT_TRUE(manager.await_count<Joined>(1));
    Raw half = Raw::to(manager->port());
    ASSERT_TRUE(half.hear_hello());
    manager->set_key("");
    manager->set_key("new");
    EXPECT_THAT(manager.why(), HasSubstr("password was set"));
    EXPECT_NE(early.why(), "");
    EXPECT_THAT(half.hear_frame().value_or(""), HasSubstr("try again"));
    Worker late = dial(with(manager->port(), "new"));
    EXPECT_TRUE(manager.await_count<Joined>(2));
}

TEST(TcpKeys, AProofOfAnOlderTalkIsOfNoUse) {
    // Replays what a worker with the key sent once, to a manager with new nonces.
    RawDoor door;
    Worker honest = dial(with(door.port(), "right"));
    Raw tapped = door.accept();
    Manager manager = listen_with("right");
    Raw thief = Raw::to(manager->port());
    const auto hello = tapped.hear_frame();
    const auto first = thief.hear_hello();
    ASSERT_TRUE(hello && first);
    // The manager's hello of another connection: the worker's proof is for that one.
    Handshake other(Role::manager, "right", {}, fresh_nonce());
    tapped.say_frame(other.hello());
    const auto proof = tapped.hear_frame();
    ASSERT_TRUE(proof);
    thief.say_frame(*hello);
    thief.say_frame(*proof);
    EXPECT_THAT(thief.hear_frame().value_or(""), HasSubstr("wrong key"));
    EXPECT_THAT(note_of(manager), HasSubstr("a different key"));
    EXPECT_EQ(manager->counts().joined, 0u);
}

TEST(TcpKeys, ReflectionFails) {
    // Reflects everything that the manager sends, in every way that could pass for an answer.
    Manager manager = listen_with("right");
    Raw mirror = Raw::to(manager->port());
    const auto hello = mirror.hear_hello();
    ASSERT_TRUE(hello);
    mirror.say_frame(*hello);
    EXPECT_THAT(mirror.hear_frame().value_or(""), HasSubstr("so are you"));
    EXPECT_THAT(note_of(manager), HasSubstr("returns what it receives"));

    // As a worker with the manager's nonce.
    Raw turned = Raw::to(manager->port());
    std::string same_nonce = turned.hear_hello().value_or("");
    same_nonce[6] = static_cast<char>(Role::worker);
    turned.say_frame(same_nonce);
    EXPECT_THAT(turned.hear_frame().value_or(""), HasSubstr("so are you"));

    // Two connections: the proof needed on one is requested on the other, which gives none first.
    Raw one = Raw::to(manager->port());
    Raw two = Raw::to(manager->port());
    std::string of_one = one.hear_hello().value_or(""), of_two = two.hear_hello().value_or("");
    of_one[6] = of_two[6] = static_cast<char>(Role::worker);
    one.say_frame(of_two);
    two.say_frame(of_one);
    one.say_frame("P" + std::string(32, 'x'));
    EXPECT_THAT(one.hear_frame().value_or(""), HasSubstr("wrong key"));
    EXPECT_EQ(manager->counts().joined, 0u);
}

TEST(TcpKeys, AWorkerDoesNotTalkToAMirror) {
    RawDoor door;
    Worker worker = dial(with(door.port(), "right"));
    Raw mirror = door.accept();
    std::thread echo([&] {
        for (std::string piece = mirror.hear(); !piece.empty(); piece = mirror.hear()) mirror.say(piece);
    });
    EXPECT_THAT(worker.why(), HasSubstr("returns what it receives"));
    worker.reset();
    echo.join();
}

TEST(TcpKeys, AManagerWithoutTheKeyIsFoundOutThoughItSaysYes) {
    RawDoor door;
    Worker worker = dial(with(door.port(), "right"));
    Raw impostor = door.accept();
    Handshake handshake(Role::manager, "wrong", {}, fresh_nonce());
    impostor.say_frame(handshake.hello());
    impostor.hear_frame();
    impostor.hear_frame();
    impostor.say_frame("P" + std::string(32, 'x'));
    EXPECT_THAT(worker.why(), HasSubstr("the manager has a different key"));
    EXPECT_TRUE(worker.all<Joined>().empty());
}

TEST(TcpKeys, OtherVersionsNameBothNumbers) {
    Manager manager = listen_with("right");
    Raw newer = Raw::to(manager->port());
    std::string hello = Handshake(Role::worker, "right", {}, fresh_nonce()).hello() + "more than there was";
    hello[5] = 7;
    newer.say_frame(hello);
    newer.hear_frame();
    EXPECT_THAT(newer.hear_frame().value_or(""),
                HasSubstr("this manager uses version 1 of the protocol, you use 7"));
    EXPECT_THAT(note_of(manager), HasSubstr("the worker uses version 7 of the protocol, this manager 1"));
}

// ---- TLS ----

TEST(TcpTls, CheckedByThePrint) {
    const TlsIdentity own = identity();
    Manager manager = listen_with("key", own);
    EXPECT_EQ(manager->certificate_digest(), certificate_digest(own).or_throw());
    Worker worker =
        dial(with(manager->port(), "key", TlsTrust{TlsTrust::By::digest, manager->certificate_digest()}));
    expect_talk(manager, worker);
    EXPECT_EQ(worker->security(), "TLS 1.3, certificate checked by its digest, key");
}

TEST(TcpTls, NothingOfTheTalkIsReadableOnTheWire) {
    // A relay between them that changes nothing: that is allowed, and it learns nothing.
    Manager manager = listen_with("key", identity());
    RawDoor door;
    Worker worker =
        dial(with(door.port(), "key", TlsTrust{TlsTrust::By::digest, manager->certificate_digest()}));
    Raw near = door.accept();
    Raw far = Raw::to(manager->port());
    std::string seen_up, seen_down;
    const auto relay = [](Raw& from, Raw& to, std::string& seen) {
        for (std::string piece = from.hear(); !piece.empty(); piece = from.hear()) {
            seen += piece;
            to.say(piece);
        }
        ::shutdown(to.get(), SHUT_WR);
    };
    std::thread up([&] { relay(near, far, seen_up); });
    std::thread down([&] { relay(far, near, seen_down); });
    ASSERT_TRUE(worker.await_count<Joined>(1));
    worker->send(TcpDialer::manager, "a secret of the worker");
    manager->send(manager.first_peer(), "a secret of the manager");
    EXPECT_TRUE(manager.await_count<Frame>(1));
    EXPECT_TRUE(worker.await_count<Frame>(1));
    worker.reset();
    up.join();
    down.join();
    EXPECT_THAT(seen_up + seen_down, ::testing::Not(HasSubstr("secret")));
    EXPECT_THAT(seen_up + seen_down, ::testing::Not(HasSubstr("WQTC")));
}

TEST(TcpTls, AnotherPrintIsNotTheManager) {
    Manager manager = listen_with("", identity());
    const std::string other = certificate_digest(identity()).or_throw();
    expect_refused(manager, with(manager->port(), "", TlsTrust{TlsTrust::By::digest, other}),
                   "this contact file is old, or another manager has the port", "alert");
}

// The reader needs it once.
TEST(TcpTls, AnOldContactFileIsToldOnceForAllAddresses) {
    Manager one = listen_with("", identity());
    Manager other = listen_with("", identity());
    const std::string print = certificate_digest(identity()).or_throw();
    TcpDialOptions options = with(one->port(), "", TlsTrust{TlsTrust::By::digest, print});
    options.managers.push_back({"127.0.0.1", other->port()});
    Worker worker = dial(options);
    EXPECT_THAT(worker.why(), ::testing::MatchesRegex(
                                  "127.0.0.1:[0-9]+, 127.0.0.1:[0-9]+: this contact file is old, or another "
                                  "manager has the port: its certificate differs"));
    const std::vector<Note> notes = worker->take_notes();
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [&](const Note& note) {
        return note.subsystem == "auth" && note.text.ends_with("expected " + print);
    }));
}

TEST(TcpTls, UnverifiedIsSaid) {
    Manager manager = listen_with("", identity());
    Worker worker = dial(with(manager->port(), "", TlsTrust{}));
    expect_talk(manager, worker);
    EXPECT_EQ(worker->security(), "TLS 1.3, certificate not verified, no key");
}

TEST(TcpTls, PlainWorkerAtATlsPort) {
    Manager manager = listen_with("", identity());
    expect_refused(manager, with(manager->port(), ""), "this manager uses TLS", "it does not use TLS");
}

TEST(TcpTls, TlsWorkerAtAPlainPort) {
    Manager manager = listen_with("");
    expect_refused(manager, with(manager->port(), "", TlsTrust{}), "it does not use TLS: do without --ssl",
                   "it speaks TLS and this end does not");
}

// A private authority and a manager's certificate from it; created by the openssl command in a folder.
class TcpTlsAuthority : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = ::testing::TempDir() + "wq_tls_" + std::to_string(::getpid());
        const std::string script = "set -e; mkdir -p " + folder_ + "; cd " + folder_ +
                                   "; for name in good other; do openssl req -x509 -newkey ec -pkeyopt "
                                   "ec_paramgen_curve:P-256 -nodes"
                                   " -keyout $name.ca.key -out $name.ca -days 2 -subj /CN=$name; done;"
                                   "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "
                                   "key -out request -subj /CN=manager;"
                                   "printf 'subjectAltName=IP:127.0.0.1\\n' >here; printf "
                                   "'subjectAltName=DNS:elsewhere.example\\n' >elsewhere;"
                                   "for name in here elsewhere; do openssl x509 -req -in request -CA good.ca "
                                   "-CAkey good.ca.key -days 2"
                                   " -CAcreateserial -extfile $name -out $name.pem; done";
        if (std::system(("(" + script + ") >/dev/null 2>&1").c_str()) != 0)
            GTEST_SKIP() << "no openssl command";
    }
    void TearDown() override { static_cast<void>(std::system(("rm -rf " + folder_).c_str())); }

    TlsIdentity of(const std::string& name) const {
        return read_identity(folder_ + "/key", folder_ + "/" + name + ".pem").or_throw();
    }
    TlsTrust trust(const std::string& name) const {
        return {TlsTrust::By::ca_file, folder_ + "/" + name + ".ca"};
    }

    std::string folder_;
};

TEST_F(TcpTlsAuthority, TheRightOneIsTrusted) {
    Manager manager = listen_with("key", of("here"));
    Worker worker = dial(with(manager->port(), "key", trust("good")));
    expect_talk(manager, worker);
    EXPECT_EQ(worker->security(), "TLS 1.3, certificate checked by the CA file, key");
}

TEST_F(TcpTlsAuthority, AnotherOneIsNot) {
    Manager manager = listen_with("", of("here"));
    expect_refused(manager, with(manager->port(), "", trust("other")),
                   "its certificate is not trusted: ", "alert");
}

TEST_F(TcpTlsAuthority, ACertificateOfAnotherHostIsNot) {
    Manager manager = listen_with("", of("elsewhere"));
    expect_refused(manager, with(manager->port(), "", trust("good")),
                   "its certificate is not trusted: IP address mismatch", "alert");
}

TEST_F(TcpTlsAuthority, FilesThatDoNotFitAreNamed) {
    EXPECT_THAT(read_identity(folder_ + "/good.ca.key", folder_ + "/here.pem").error().message,
                AllOf(HasSubstr("good.ca.key"), HasSubstr("does not belong to the certificate")));
    EXPECT_THAT(read_identity(folder_ + "/here", folder_ + "/here.pem").error().message,
                HasSubstr("not a PEM private key"));
    EXPECT_THAT(read_identity(folder_ + "/key", folder_ + "/key").error().message,
                HasSubstr("not a PEM certificate"));
    EXPECT_THAT(read_identity(folder_ + "/none", folder_ + "/here.pem").error().message,
                HasSubstr("/none: "));
    Manager manager = listen_with("", of("here"));
    for (const char* name : {"/none", "/key"}) {
        const auto worker =
            TcpDialer::open(with(manager->port(), "", TlsTrust{TlsTrust::By::ca_file, folder_ + name}));
        ASSERT_FALSE(worker) << name;
        EXPECT_THAT(worker.error().message,
                    AllOf(HasSubstr("cannot read certificates of authorities"), HasSubstr(name)));
        EXPECT_EQ(worker.error().code, ExitCode::bad_input);
    }
}

// ---- between the ends ----

// TLS towards the worker with the attacker's certificate, TLS towards the manager, all frames passed on: what
// somebody who controls the network can do to workers that do not check the certificate.
class Middleman {
  public:
    Middleman(RawDoor& door, std::uint16_t manager)
        : near_(door.accept()),
          far_(Raw::to(manager)),
          as_manager_(TlsContext::of_manager(identity()).or_throw()),
          as_worker_(TlsContext::of_worker({}).or_throw()),
          to_worker_(as_manager_->channel({})),
          to_manager_(as_worker_->channel({})) {}

    // Until either end closes. Returns the frame bytes that the attacker read.
    std::string run() {
        to_manager_->start();
        far_.say(to_manager_->outgoing());
        for (bool open = true; open;) {
            pollfd entries[] = {{near_.get(), POLLIN, 0}, {far_.get(), POLLIN, 0}};
            if (::poll(entries, 2, 60'000) <= 0) break;
            if (entries[0].revents != 0) open = pass(near_, *to_worker_, from_worker_);
            if (open && entries[1].revents != 0) open = pass(far_, *to_manager_, from_manager_);
            put(*to_manager_, from_worker_);
            put(*to_worker_, from_manager_);
            near_.say(to_worker_->outgoing());
            far_.say(to_manager_->outgoing());
        }
        return read_;
    }

  private:
    bool pass(Raw& from, TlsChannel& channel, std::string& plain) {
        const std::string bytes = from.hear();
        const std::size_t before = plain.size();
        const bool sound = !bytes.empty() && channel.take(bytes, plain);
        read_ += plain.substr(before);
        return sound;
    }
    static void put(TlsChannel& channel, std::string& plain) {
        if (plain.empty() || !channel.established()) return;
        channel.encrypt(plain);
        plain.clear();
    }

    Raw near_, far_;
    std::shared_ptr<TlsContext> as_manager_, as_worker_;
    std::unique_ptr<TlsChannel> to_worker_, to_manager_;
    std::string from_worker_, from_manager_, read_;
};

TEST(TcpBetween, AMiddlemanWithAnotherCertificateFailsByTheChannelBinding) {
    Manager manager = listen_with("the same password", identity());
    RawDoor door;
    Worker worker = dial(with(door.port(), "the same password", TlsTrust{}));
    Middleman middleman(door, manager->port());
    std::string read;
    std::thread runs([&] { read = middleman.run(); });
    EXPECT_THAT(worker.why(),
                HasSubstr("wrong key or password: the manager has another one, or somebody intercepts"));
    worker.reset();
    runs.join();
    EXPECT_THAT(read, HasSubstr("WQTC")) << "he did read both hellos";
    EXPECT_EQ(manager->counts().joined, 0u);
}

TEST(TcpBetween, WithoutAKeyNothingStopsHimWhichIsWhyUnverifiedIsSaid) {
    Manager manager = listen_with("", identity());
    RawDoor door;
    Worker worker = dial(with(door.port(), "", TlsTrust{}));
    Middleman middleman(door, manager->port());
    std::thread runs([&] { middleman.run(); });
    EXPECT_TRUE(worker.await_count<Joined>(1));
    worker.reset();
    runs.join();
}

}  // namespace
}  // namespace wq::net::frames

#include "net/frames/handshake.h"

#include <gmock/gmock.h>

#include "net/frames/tls_crypto.h"

namespace wq::net::frames {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Nonce nonce(char fill) {
    Nonce made;
    made.fill(fill);
    return made;
}

struct HandshakePair {
    Handshake manager;
    Handshake worker;
    HandshakePair(const std::string& manager_key, const std::string& worker_key,
                  const std::string& manager_binding = {}, const std::string& worker_binding = {})
        : manager(Role::manager, manager_key, manager_binding, nonce('m')),
          worker(Role::worker, worker_key, worker_binding, nonce('w')) {}

    // Exchanges frames until both ends are silent.
    void run() {
        std::string to_worker = manager.hello(), to_manager = worker.hello();
        while (!to_worker.empty() || !to_manager.empty()) {
            const std::string for_worker = std::exchange(to_worker, {});
            const std::string for_manager = std::exchange(to_manager, {});
            if (!for_manager.empty() && manager.going()) to_worker = manager.on_frame(for_manager);
            if (!for_worker.empty() && worker.going()) to_manager = worker.on_frame(for_worker);
        }
    }
};

TEST(Handshake, GoesThroughWithTheSameKeyAndBinding) {
    for (const std::string key : {"", "k", "a longer key\n"}) {
        for (const std::string binding : {"", "binding"}) {
            HandshakePair pair(key, key, binding, binding);
            pair.run();
            EXPECT_TRUE(pair.manager.done());
            EXPECT_TRUE(pair.worker.done());
        }
    }
}

TEST(Handshake, AnyDifferenceEndsItOnBothSides) {
    const std::vector<std::array<std::string, 4>> cases = {
        {"a", "b", "", ""}, {"a", "", "", ""}, {"", "a", "", ""}, {"a", "a", "x", "y"}, {"a", "a", "x", ""}};
    for (const auto& [manager_key, worker_key, manager_binding, worker_binding] : cases) {
        HandshakePair pair(manager_key, worker_key, manager_binding, worker_binding);
        pair.run();
        EXPECT_FALSE(pair.manager.going() || pair.manager.done());
        EXPECT_FALSE(pair.worker.going() || pair.worker.done());
        EXPECT_EQ(pair.manager.failure().code, ExitCode::not_allowed);
        EXPECT_THAT(pair.worker.failure().message, HasSubstr("key"));
    }
}

TEST(Handshake, NoKeyLeavesTheMachine) {
    HandshakePair pair("the key itself", "the key itself");
    const std::string hello = pair.worker.hello();
    const std::string proof = pair.worker.on_frame(pair.manager.hello());
    EXPECT_THAT(hello + proof, Not(HasSubstr("the key itself")));
    EXPECT_EQ(proof.size(), 33u);
}

TEST(Handshake, ProofsAreOfOneRoleAndOneTalk) {
    HandshakePair pair("key", "key");
    pair.manager.on_frame(pair.worker.hello());
    const std::string of_worker = pair.worker.on_frame(pair.manager.hello());
    const std::string of_manager = pair.manager.on_frame(of_worker);
    EXPECT_NE(of_worker, of_manager);
    // Reflected to its sender.
    EXPECT_THAT(pair.worker.on_frame(of_worker), HasSubstr("wrong key"));
    EXPECT_FALSE(pair.worker.done());
    // In a handshake with another nonce.
    Handshake later(Role::manager, "key", {}, nonce('l'));
    later.on_frame(pair.worker.hello());
    EXPECT_THAT(later.on_frame(of_worker), HasSubstr("wrong key"));
    EXPECT_FALSE(later.done());
}

TEST(Handshake, EveryBitOfAHelloAndAProofCounts) {
    for (std::size_t bit = 0; bit < 8 * 33; ++bit) {
        HandshakePair pair("key", "key");
        pair.manager.on_frame(pair.worker.hello());
        std::string proof = pair.worker.on_frame(pair.manager.hello());
        ASSERT_EQ(proof.size(), 33u);
        proof[bit / 8] = static_cast<char>(proof[bit / 8] ^ (1 << bit % 8));
        pair.manager.on_frame(proof);
        EXPECT_FALSE(pair.manager.done()) << bit;
    }
    const std::size_t hello_bits = 8 * HandshakePair("key", "key").worker.hello().size();
    for (std::size_t bit = 0; bit < hello_bits; ++bit) {
        HandshakePair pair("key", "key");
        std::string hello = pair.worker.hello();
        hello[bit / 8] = static_cast<char>(hello[bit / 8] ^ (1 << bit % 8));
        pair.manager.on_frame(hello);
        if (pair.manager.going()) pair.manager.on_frame(pair.worker.on_frame(pair.manager.hello()));
        EXPECT_FALSE(pair.manager.done()) << bit;
    }
}

TEST(Handshake, AManagerWithAKeyTakesNoEmptyProof) {
    HandshakePair pair("key", "key");
    pair.manager.on_frame(pair.worker.hello());
    EXPECT_THAT(pair.manager.on_frame("P"), HasSubstr("wrong key"));
    EXPECT_FALSE(pair.manager.done());
}

TEST(Handshake, RefusalsAreToldInOneCleanLine) {
    Handshake worker(Role::worker, {}, {}, nonce('w'));
    EXPECT_EQ(worker.on_frame(refusal(ExitCode::unreachable, "busy\nall " + std::string(1000, 'x'))), "");
    EXPECT_FALSE(worker.going());
    EXPECT_EQ(worker.failure().code, ExitCode::unreachable);
    EXPECT_THAT(worker.failure().message,
                AllOf(HasSubstr("the manager refused: busy"), Not(HasSubstr("\n"))));
    EXPECT_LT(worker.failure().message.size(), 400u);
}

// RFC 4231, cases 1, 2 and 6.
TEST(Crypto, HmacSha256) {
    EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'),
                                 "Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Crypto, NoncesDiffer) {
    EXPECT_NE(fresh_nonce(), fresh_nonce());
    EXPECT_TRUE(equal_in_constant_time("ab", "ab"));
    EXPECT_FALSE(equal_in_constant_time("ab", "ac"));
    EXPECT_FALSE(equal_in_constant_time("ab", "abc"));
}

}  // namespace
}  // namespace wq::net::frames

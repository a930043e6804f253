// How two ends of a connection show each other that they have the same key, as a machine over frames: no
// socket, no clock.
//
//   both:     hello = magic, version, role, whether it has a key, nonce of 32 fresh bytes
//   worker:   proof = HMAC-SHA256(key, label | worker | hello of the manager | hello of the worker | binding)
//   manager:  checks that, then sends the same with its own role
//
// The role in the proof and in the hello makes a proof that is sent back worthless; the worker goes first,
// since the manager is what strangers can reach. `binding` is the TLS channel's (RFC 9266) or empty: whoever
// sits in the middle of two TLS channels has two of them. Without keys the proofs are empty.
// Instead of any of these either end may send a refusal: a reason in clear words.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wq::transport {

inline constexpr std::uint16_t kHandshakeVersion = 1;
inline constexpr std::size_t kMostHandshakeFrame = 4096;

enum class Role : std::uint8_t { manager = 1, worker = 2 };
using Nonce = std::array<char, 32>;
Nonce fresh_nonce();

// The frame that sends a peer away before or instead of a handshake. The code is `not_allowed`, or
// `unreachable` where trying again later helps.
std::string refusal(ExitCode code, std::string_view reason);

class Handshake {
  public:
    Handshake(Role role, std::string key, std::string binding, const Nonce& nonce);

    std::string hello() const;  // to be sent first

    // The frame to send in answer, or an empty one. Call only while going().
    std::string on_frame(std::string_view frame);

    bool going() const { return step_ != Step::done && step_ != Step::failed; }
    bool done() const { return step_ == Step::done; }
    const Error& failure() const { return failure_; }  // when neither

  private:
    enum class Step { hello, proof, done, failed };
    std::string on_hello(std::string_view frame);
    std::string on_proof(std::string_view frame);
    std::string proof_of(Role role) const;
    std::string refuse(std::string why_here, std::string_view reason_there);
    void refused(std::string_view frame);

    Role role_;
    std::string key_;
    std::string binding_;
    std::string own_hello_;
    std::string peer_hello_;
    Step step_ = Step::hello;
    Error failure_;
};

}  // namespace wq::transport

// How the two ends of a connection prove that they have the same key: a state machine over frames, without
// socket and clock.
//
//   both:     hello = magic, version, role, whether it has a key, nonce of 32 fresh bytes
//   worker:   proof = HMAC-SHA256(key, label | worker | hello of the manager | hello of the worker | binding)
//   manager:  checks the proof, then sends one with its own role
//
// The role in proof and hello makes a reflected proof worthless. The worker proves first, because anybody can
// connect to the manager. `binding` is the TLS channel's (RFC 9266) or empty: somebody between two TLS
// channels has two different ones. Without keys the proofs are empty. Instead of any of these, either end may
// send a refusal: a reason in plain words.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wq::net::frames {

inline constexpr std::uint16_t kHandshakeVersion = 1;
inline constexpr std::size_t kMostHandshakeFrame = 4096;

enum class Role : std::uint8_t { manager = 1, worker = 2 };
using Nonce = std::array<char, 32>;
Nonce fresh_nonce();

// The frame that rejects a peer before or instead of a handshake. The code is `not_allowed`, or `unreachable`
// if retrying later helps.
std::string refusal(ExitCode code, std::string_view reason);

class Handshake {
  public:
    Handshake(Role role, std::string key, std::string binding, const Nonce& nonce);

    std::string hello() const;  // to be sent first

    // The answer to a frame; may be empty. Call only while going().
    std::string on_frame(std::string_view frame);

    bool going() const { return step_ != Step::done && step_ != Step::failed; }
    bool done() const { return step_ == Step::done; }
    const Error& failure() const { return failure_; }  // set if it failed

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

}  // namespace wq::net::frames

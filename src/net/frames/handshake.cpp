#include "net/frames/handshake.h"

#include <sys/random.h>

#include "base/units.h"
#include "net/frames/tls_crypto.h"

namespace wq::net::frames {

namespace {

constexpr std::string_view magic = "WQTC";
constexpr std::string_view label = "work_queue connection proof 1";
constexpr std::size_t version_at = magic.size();
constexpr std::size_t role_at = version_at + 2;
constexpr std::size_t key_at = role_at + 1;
constexpr std::size_t nonce_at = key_at + 1;
constexpr std::size_t hello_bytes = nonce_at + sizeof(Nonce);
constexpr char proof_mark = 'P';
constexpr char refusal_mark = 'R';
constexpr std::size_t most_reason = 300;

const char* name(Role role) {
    return role == Role::manager ? "manager" : "worker";
}

Role other(Role role) {
    return role == Role::manager ? Role::worker : Role::manager;
}

unsigned version_in(std::string_view hello) {
    return static_cast<unsigned>(static_cast<unsigned char>(hello[version_at])) << 8 |
           static_cast<unsigned char>(hello[version_at + 1]);
}

}  // namespace

Nonce fresh_nonce() {
    Nonce nonce{};
    // Up to 256 bytes arrive in one call; it blocks only in the first seconds after boot.
    while (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
    }
    return nonce;
}

std::string refusal(ExitCode code, std::string_view reason) {
    std::string frame(1, refusal_mark);
    frame += static_cast<char>(code == ExitCode::unreachable ? 1 : 0);
    frame += reason.substr(0, most_reason);
    return frame;
}

Handshake::Handshake(Role role, std::string key, std::string binding, const Nonce& nonce)
    : role_(role), key_(std::move(key)), binding_(std::move(binding)), own_hello_(magic) {
    own_hello_ += static_cast<char>(kHandshakeVersion >> 8);
    own_hello_ += static_cast<char>(kHandshakeVersion & 0xff);
    own_hello_ += static_cast<char>(role);
    own_hello_ += static_cast<char>(key_.empty() ? 0 : 1);
    own_hello_.append(nonce.data(), nonce.size());
}

std::string Handshake::hello() const {
    return own_hello_;
}

std::string Handshake::on_frame(std::string_view frame) {
    if (!frame.empty() && frame.front() == refusal_mark) {
        refused(frame);
        return {};
    }
    return step_ == Step::hello ? on_hello(frame) : on_proof(frame);
}

std::string Handshake::on_hello(std::string_view frame) {
    const std::string self = name(role_), peer = name(other(role_));
    if (frame.size() < role_at || !frame.starts_with(magic)) {
        return refuse("the peer is not a " + peer + ": it sent " + quote_for_message(frame.substr(0, 40)),
                      "this is a " + self + " of work_queue, which expects the hello of a " + peer);
    }
    if (version_in(frame) != kHandshakeVersion) {
        const std::string ours = std::to_string(kHandshakeVersion);
        const std::string theirs = std::to_string(version_in(frame));
        return refuse("the " + peer + " uses version " + theirs + " of the protocol, this " + self + " " +
                          ours + ": use the same release on both sides",
                      "this " + self + " uses version " + ours + " of the protocol, you use " + theirs +
                          ": use the same release on both sides");
    }
    const bool sound = frame.size() == hello_bytes && (frame[key_at] == 0 || frame[key_at] == 1);
    if (!sound) return refuse("the hello is invalid", "your hello is invalid");
    if (frame[role_at] != static_cast<char>(other(role_)) ||
        frame.substr(nonce_at) == own_hello_.substr(nonce_at)) {
        return refuse("the peer is another " + self + ", or returns what it receives",
                      "this is a " + self + " and so are you");
    }
    const bool peer_has_key = frame[key_at] == 1;
    if (key_.empty() != !peer_has_key) {
        const bool manager_has_it = role_ == Role::manager ? !key_.empty() : peer_has_key;
        const std::string reason =
            manager_has_it ? "the manager asks for a key and got none: use --contact FILE or --password FILE"
                           : "the manager has no key and got one: give it the same password, or connect "
                             "without one";
        return refuse(reason, reason);
    }
    peer_hello_ = frame;
    step_ = Step::proof;
    return role_ == Role::worker ? proof_of(role_) : std::string();
}

std::string Handshake::on_proof(std::string_view frame) {
    if (!equal_in_constant_time(frame, proof_of(other(role_)))) {
        const std::string cause = binding_.empty() ? "" : ", or somebody intercepts the connection";
        return refuse("the " + std::string(name(other(role_))) + " has a different key or password" + cause,
                      "wrong key or password: the " + std::string(name(role_)) + " has another one" + cause);
    }
    step_ = Step::done;
    return role_ == Role::manager ? proof_of(role_) : std::string();
}

std::string Handshake::proof_of(Role role) const {
    std::string proof(1, proof_mark);
    if (key_.empty()) return proof;
    std::string said(label);
    said += static_cast<char>(role);
    said += role_ == Role::manager ? own_hello_ + peer_hello_ : peer_hello_ + own_hello_;
    said += binding_;
    return proof + hmac_sha256(key_, said);
}

std::string Handshake::refuse(std::string why_here, std::string_view reason_there) {
    step_ = Step::failed;
    failure_ = {ExitCode::not_allowed, std::move(why_here)};
    return refusal(ExitCode::not_allowed, reason_there);
}

void Handshake::refused(std::string_view frame) {
    step_ = Step::failed;
    const bool later = frame.size() > 1 && frame[1] == 1;
    const std::string reason =
        line_for_message(frame.substr(std::min<std::size_t>(2, frame.size())), most_reason);
    failure_ = {later ? ExitCode::unreachable : ExitCode::not_allowed,
                "the " + std::string(name(other(role_))) + " refused: " + reason};
}

}  // namespace wq::net::frames

#include "worker/manager_link.h"

#include "net/session/session_table.h"

namespace wq::worker {

void ManagerLink::connect(net::frames::Transport& transport, net::frames::PeerId manager) {
    disconnect();
    outbox_.emplace(transport, manager);
    expected_ = true;
}

void ManagerLink::disconnect() {
    outbox_.reset();
    welcomed_ = malformed_ = false;
    refused_.reset();
    dismissed_.reset();
}

void ManagerLink::greet(net::messages::Hello hello, std::vector<Key> held) {
    hello.identity = identity_;
    hello.resume = token_;
    hello.answers_sent = answers_.sent();
    if (over_tcp()) {
        hello.holding = std::move(held);
        for (const AnswerLog::Answer& kept : answers_.kept())
            if (kept.key) hello.holding.push_back(*kept.key);
    }
    say(hello);
}

void ManagerLink::say(const net::messages::Message& message) {
    if (outbox_) outbox_->put(message);
}

void ManagerLink::say_if_welcomed(const net::messages::Message& message) {
    if (!over_tcp() || welcomed_) say(message);
}

void ManagerLink::answer(const net::messages::Message& message, std::optional<Key> key) {
    if (!over_tcp()) return say(message);
    std::string encoded = net::messages::encode(message);
    if (outbox_ && welcomed_) outbox_->put_encoded(encoded);
    answers_.add(std::move(encoded), key);
}

bool ManagerLink::flush() {
    if (!outbox_ || outbox_->empty()) return false;
    outbox_->flush();
    return true;
}

bool ManagerLink::has_forgotten_us(const net::messages::Welcome& message) {
    if (message.resume == token_) return false;
    forgotten_ = has_manager();
    return forgotten_;
}

void ManagerLink::welcome(const net::messages::Welcome& message) {
    token_ = message.resume;
    expected_ = welcomed_ = true;
    grace_ = message.grace;
}

void ManagerLink::resend_answers(std::uint64_t received) {
    answers_.forget(received);
    for (const AnswerLog::Answer& kept : answers_.kept()) outbox_->put_encoded(kept.message);
}

// The manager forgets the session.
void ManagerLink::say_goodbye(const net::messages::Goodbye& last) {
    say(last);
    token_.clear();
}

std::optional<net::messages::LastWords> ManagerLink::last_words() const {
    if (token_.empty() || grace_ <= Duration{0}) return std::nullopt;
    return net::messages::LastWords{net::messages::protocol_version, identity_, token_, false};
}

void ManagerLink::forget_manager() {
    token_.clear();
    // The old manager may still keep a place for us, and would mistake us for a duplicate.
    if (over_tcp()) identity_ = net::session::random_token();
    expected_ = false;
    answers_ = {};
}

}  // namespace wq::worker

#include "programs/worker/last_words.h"

#include <poll.h>

#include <algorithm>
#include <exception>
#include <variant>
#include <vector>

#include "base/fields.h"

namespace wq::net::frames {

template <class V>
void fields(HostPort& address, V& visit) {
    visit(address.host, address.port);
}
constexpr TlsTrust::By last_of(TlsTrust::By) {
    return TlsTrust::By::unverified;
}
template <class V>
void fields(TlsTrust& trust, V& visit) {
    visit(trust.by, trust.value);
}

}  // namespace wq::net::frames

namespace wq::programs::worker {

struct LastMessage {
    net::frames::TcpDialOptions manager;
    net::messages::LastWords words;
    Duration grace{0};
};
template <class V>
void fields(LastMessage& message, V& visit) {
    visit(message.manager.managers, message.manager.key, message.manager.tls, message.words.identity,
          message.words.resume, message.grace);
}

namespace {

void send_last_message(LastMessage message) {
    const Instant until = instant_now() + message.grace;
    // A manager that is stopped or busy for a while answers late.
    message.manager.limits.handshake = std::max(message.manager.limits.handshake, message.grace);
    const auto line = net::frames::TcpDialer::open(std::move(message.manager));
    if (!line) return;
    for (Instant now = instant_now(); now < until; now = instant_now()) {
        std::vector<net::frames::Arrival> inbox;
        (*line)->poll(inbox);
        for (const net::frames::Arrival& arrival : inbox) {
            if (std::holds_alternative<net::frames::Joined>(arrival))
                (*line)->send(net::frames::TcpDialer::manager, net::messages::encode(message.words));
            if (std::holds_alternative<net::frames::Left>(arrival)) return;
        }
        pollfd ready{(*line)->descriptors().front(), POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    }
}

}  // namespace

std::string encode_last_words(const net::frames::TcpDialOptions& manager,
                              const net::messages::LastWords& words, Duration grace) {
    LastMessage message{manager, words, grace};
    return bytes_of(message);
}

void send_last_words(const std::string& encoded, bool all_ended) {
    try {
        LastMessage message;
        fields_are(encoded, message);
        message.words.all_ended = all_ended;
        send_last_message(std::move(message));
    } catch (const std::exception&) {  // then the manager waits for the worker until its limit
    }
}

}  // namespace wq::programs::worker

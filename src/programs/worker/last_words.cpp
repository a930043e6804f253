#include "programs/worker/last_words.h"

#include <poll.h>

#include <algorithm>
#include <exception>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace wq::programs::worker {

namespace {

struct Will {
    net::frames::TcpDialOptions manager;
    net::messages::LastWords words;
    Duration grace{0};
};

Will decode(const std::string& encoded) {
    ByteReader in(encoded);
    Will will;
    for (std::uint64_t left = in.count(); left > 0; --left) {
        net::frames::HostPort& manager = will.manager.managers.emplace_back();
        manager.host = in.blob();
        manager.port = static_cast<std::uint16_t>(in.u64());
    }
    will.manager.key = in.blob();
    if (in.boolean()) {
        will.manager.tls.emplace();
        will.manager.tls->by = static_cast<net::frames::TlsTrust::By>(in.u8());
        will.manager.tls->value = in.blob();
    }
    will.words.identity = in.blob();
    will.words.resume = in.blob();
    will.grace = Duration(in.i64());
    return will;
}

void send_will(Will will) {
    const Instant until = instant_now() + will.grace;
    // A manager that is stopped or busy for a while answers late.
    will.manager.limits.handshake = std::max(will.manager.limits.handshake, will.grace);
    const auto line = net::frames::TcpDialer::open(std::move(will.manager));
    if (!line) return;
    for (Instant now = instant_now(); now < until; now = instant_now()) {
        std::vector<net::frames::Arrival> inbox;
        (*line)->poll(inbox);
        for (const net::frames::Arrival& arrival : inbox) {
            if (std::holds_alternative<net::frames::Joined>(arrival))
                (*line)->send(net::frames::TcpDialer::manager, net::messages::encode(will.words));
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
    ByteWriter out;
    out.u64(manager.managers.size());
    for (const net::frames::HostPort& each : manager.managers) {
        out.blob(each.host);
        out.u64(each.port);
    }
    out.blob(manager.key);
    out.boolean(manager.tls.has_value());
    if (manager.tls) {
        out.u8(static_cast<std::uint8_t>(manager.tls->by));
        out.blob(manager.tls->value);
    }
    out.blob(words.identity);
    out.blob(words.resume);
    out.i64(grace.count());
    return out.take();
}

void say_last_words(const std::string& encoded, bool all_ended) {
    try {
        Will will = decode(encoded);
        will.words.all_ended = all_ended;
        send_will(std::move(will));
    } catch (const std::exception&) {  // then the manager waits for the worker until its limit
    }
}

}  // namespace wq::programs::worker

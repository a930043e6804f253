#include "functions/coprocess/door.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "functions/coprocess/message.h"

namespace wq::functions::coprocess {

namespace {

constexpr Duration secret_limit = std::chrono::seconds(5);
constexpr std::size_t most_waiting = 64;

// Takes the same time wherever they differ.
bool same(std::string_view a, std::string_view b) {
    unsigned char differs = a.size() != b.size();
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
        differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
    return differs == 0;
}

int milliseconds_until(Instant when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - instant_now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

Descriptor Door::next() {
    std::vector<pollfd> polled;
    for (;;) {
        std::erase_if(waiting_, [now = instant_now()](const Waiting& peer) { return peer.until <= now; });
        polled.assign(1, {listener_.get(), POLLIN, 0});
        for (const Waiting& peer : waiting_) polled.push_back({peer.connection.get(), POLLIN, 0});
        const int limit = waiting_.empty() ? -1 : milliseconds_until(waiting_.front().until);
        if (::poll(polled.data(), polled.size(), limit) < 0) {
            if (errno == EINTR) continue;
            return {};
        }
        auto ready = polled.begin() + 1;
        for (auto peer = waiting_.begin(); peer != waiting_.end(); ++ready) {
            const Heard heard = ready->revents != 0 ? listen_to(*peer) : Heard::more;
            Descriptor connection = heard == Heard::all ? std::move(peer->connection) : Descriptor();
            peer = heard == Heard::more ? std::next(peer) : waiting_.erase(peer);
            if (connection.valid()) return connection;
        }
        if (polled.front().revents == 0) continue;
        if (!accept()) return {};
        if (secret_.empty() && !waiting_.empty()) {
            Descriptor connection = std::move(waiting_.back().connection);
            waiting_.clear();
            return connection;
        }
    }
}

// False: it cannot take connections any more.
bool Door::accept() {
    Descriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) return errno == EINTR || errno == ECONNABORTED;
    if (waiting_.size() >= most_waiting) waiting_.pop_front();
    waiting_.push_back({std::move(connection), {}, instant_now() + secret_limit});
    return true;
}

Door::Heard Door::listen_to(Waiting& peer) const {
    std::array<char, 256> bytes;
    const std::size_t missing = std::min(secret_.size() - peer.said.size(), bytes.size());
    const ssize_t got = ::recv(peer.connection.get(), bytes.data(), missing, MSG_DONTWAIT);
    if (got < 0 && would_block(errno)) return Heard::more;
    if (got <= 0) return Heard::nothing_good;
    peer.said.append(bytes.data(), static_cast<std::size_t>(got));
    if (peer.said.size() < secret_.size() && peer.said.find('\n') == std::string::npos) return Heard::more;
    return same(peer.said, secret_) ? Heard::all : Heard::nothing_good;
}

void Door::close() {
    listener_.reset();
    waiting_.clear();
}

}  // namespace wq::functions::coprocess

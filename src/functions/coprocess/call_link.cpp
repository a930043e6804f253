#include "functions/coprocess/call_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace wq::functions::coprocess {

namespace {

constexpr int reads_a_turn = 64;

}  // namespace

Status CallLink::open(std::uint16_t port, std::string to_send) {
    link_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!link_.valid())
        return Error{ExitCode::unreachable,
                     std::string("no connection to the coprocess: ") + std::strerror(errno)};
    const int on = 1;
    ::setsockopt(link_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to_send_ = std::move(to_send);
    sent_ = 0;
    answer_ = LengthReader(engine::model::most_output_limit);
    given_up_ = false;
    state_ = State::open;
    const bool refused =
        ::connect(link_.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 &&
        errno != EINPROGRESS;
    if (refused) close();
    return success();
}

void CallLink::close() {
    state_ = State::closed;
    link_.reset();
    to_send_ = {};
    sent_ = 0;
}

pollfd CallLink::polled() const {
    return {link_.get(), static_cast<short>(has_sent_all() ? POLLIN : POLLIN | POLLOUT), 0};
}

void CallLink::move_bytes(short events) {
    if (state_ != State::open) return;
    if ((events & POLLOUT) != 0) send();
    if ((events & ~POLLOUT) != 0) receive(reads_a_turn);
}

void CallLink::send() {
    while (sent_ < to_send_.size()) {
        const ssize_t sent =
            ::send(link_.get(), to_send_.data() + sent_, to_send_.size() - sent_, MSG_NOSIGNAL);
        if (sent < 0 && would_block(errno)) return;
        if (sent < 0) break;  // receive() notices
        sent_ += static_cast<std::size_t>(sent);
    }
    to_send_ = {};
    sent_ = 0;
}

void CallLink::receive_all() {
    receive(INT_MAX);
}

void CallLink::receive(int most_reads) {
    std::array<char, 65536> bytes;
    for (int i = 0; i < most_reads && state_ == State::open; ++i) {
        const ssize_t got = ::recv(link_.get(), bytes.data(), bytes.size(), 0);
        if (got < 0 && would_block(errno)) return;
        if (got <= 0) return close();
        if (given_up_) continue;
        answer_.feed({bytes.data(), static_cast<std::size_t>(got)});
        if (answer_.broken()) state_ = State::no_answer;
        if (answer_.complete()) state_ = State::answered;
    }
}

void CallLink::give_up() {
    ::shutdown(link_.get(), SHUT_WR);
    given_up_ = true;
}

}  // namespace wq::functions::coprocess

// Writing a link's frames: gathered from their buffers, or encrypted in pieces of 64 KiB.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "net/frames/tcp_link.h"

namespace wq::net::frames {

namespace {

constexpr std::size_t most_gathered = 128;       // frames per call; the kernel takes 1024 pieces
constexpr std::size_t sealed_piece = 64u << 10;  // four TLS records
constexpr std::size_t most_sealed = 256u << 10;  // ciphertext prepared in advance

// The contiguous bytes from offset `done` of a frame with its header, or without.
std::string_view rest_of(std::string_view head, const std::string& frame, std::size_t done) {
    if (done < head.size()) return head.substr(done);
    return std::string_view(frame).substr(done - head.size());
}

}  // namespace

// Until the kernel accepts no more or nothing is left.
void TcpLink::write() {
    const auto self = shared_from_this();
    while (!broken_ && state_ != State::gone) {
        if (outgoing_.empty() && tls_) seal();
        if (outgoing_.empty() && (tls_ || pending_.empty())) break;
        if (!(outgoing_.empty() ? write_gathered() : write_outgoing())) return;
    }
    if (state_ == State::open && !unsent() && !broken_ && std::exchange(owes_, false))
        return owner_.on_answer_taken(*this);
    if (state_ != State::leaving || broken_) return;
    if (tls_ && !std::exchange(shut_, true)) {
        tls_->end();
        return write();
    }
    ::shutdown(socket_.native_handle(), SHUT_WR);
    if (deaf_) vanish();
}

bool TcpLink::write_gathered() {
    std::array<std::array<char, kFrameHeadBytes>, most_gathered> heads;
    std::array<iovec, 2 * most_gathered> pieces;
    std::size_t count = 0;
    std::size_t done = first_done_;
    for (std::size_t i = 0; i < std::min(pending_.size(), most_gathered); ++i, done = 0) {
        heads[i] = frame_head(pending_[i].size());
        for (std::size_t at = done; at < head_bytes() + pending_[i].size();) {
            const std::string_view piece = rest_of({heads[i].data(), head_bytes()}, pending_[i], at);
            pieces[count++] = {const_cast<char*>(piece.data()), piece.size()};
            at += piece.size();
        }
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
    if (!wrote(sent)) return false;
    std::size_t rest = first_done_ + static_cast<std::size_t>(sent);
    pending_bytes_ -= static_cast<std::size_t>(sent);
    while (!pending_.empty() && rest >= head_bytes() + pending_.front().size()) {
        rest -= head_bytes() + pending_.front().size();
        frame_left(pending_.front().size());
        pending_.pop_front();
    }
    first_done_ = rest;
    return true;
}

bool TcpLink::write_outgoing() {
    const ssize_t sent = ::send(socket_.native_handle(), outgoing_.data() + outgoing_done_,
                                outgoing_.size() - outgoing_done_, MSG_NOSIGNAL);
    if (!wrote(sent)) return false;
    outgoing_done_ += static_cast<std::size_t>(sent);
    if (outgoing_done_ < outgoing_.size()) return true;
    outgoing_.clear();
    outgoing_done_ = 0;
    for (const std::size_t bytes : sealed_) frame_left(bytes);
    sealed_.clear();
    return true;
}

// Whether to go on. A link that cannot be written can still be read: the peer may have sent the reason.
bool TcpLink::wrote(ssize_t bytes) {
    if (bytes >= 0) {
        sent_at_ = instant_now();
        return true;
    }
    if (errno == EINTR) return wrote(0);
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        await_writable();
    } else {
        const int error = errno;
        broken_ = true;
        drop_unsent();
        asks_ ? fail({ExitCode::unreachable, std::system_category().message(error)}) : read();
    }
    return false;
}

void TcpLink::seal() {
    outgoing_ = tls_->outgoing();
    while (tls_->established() && !pending_.empty() && outgoing_.size() < most_sealed) {
        std::string piece;
        while (!pending_.empty() && piece.size() < sealed_piece) {
            const std::string& frame = pending_.front();
            const auto head = frame_head(frame.size());
            const std::string_view rest = rest_of({head.data(), head_bytes()}, frame, first_done_)
                                              .substr(0, sealed_piece - piece.size());
            piece.append(rest);
            first_done_ += rest.size();
            pending_bytes_ -= rest.size();
            if (first_done_ < head_bytes() + frame.size()) continue;
            sealed_.push_back(frame.size());
            pending_.pop_front();
            first_done_ = 0;
        }
        if (!tls_->put(piece)) {
            broken_ = true;
            return drop_unsent();
        }
        outgoing_ += tls_->outgoing();
    }
}

}  // namespace wq::net::frames

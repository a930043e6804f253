#include "net/frames/link_writer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "net/frames/tcp_link.h"
#include "net/frames/tls_channel.h"

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

void LinkWriter::add(std::string frame, From whom) {
    if (!unsent()) waiting_since_ = instant_now();
    const std::size_t bytes = frame.size();
    pending_.push_back(std::move(frame));
    if (whom == From::link && bytes > 0) ++link_frames_;
    waiting_bytes_ += head_bytes_ + bytes;
}

LinkWriter::Written LinkWriter::write(TlsChannel* tls) {
    while (!broken()) {
        if (outgoing_.empty() && tls) seal(*tls);
        if (outgoing_.empty() && (tls || pending_.empty())) break;
        const bool sent = outgoing_.empty() ? send_gathered() : send_outgoing();
        if (!sent) return broken() ? Written::failed : Written::some;
    }
    return Written::all;
}

bool LinkWriter::add_end(TlsChannel& tls) {
    if (way_ != Way::open) return false;
    way_ = Way::ended;
    tls.end();
    return true;
}

void LinkWriter::drop_all() {
    for (const std::size_t bytes : sealed_) report_left(bytes);
    for (const std::string& frame : pending_) report_left(frame.size());
    sealed_.clear();
    pending_.clear();
    outgoing_.clear();
    first_done_ = outgoing_done_ = waiting_bytes_ = 0;
}

std::optional<Instant> LinkWriter::waits_since() const {
    if (!unsent()) return std::nullopt;
    return progress_at();
}

void LinkWriter::forgive(Duration pause) {
    sent_at_ += pause;
    waiting_since_ += pause;
}

void LinkWriter::report_left(std::size_t bytes) {
    if (bytes == 0) return;
    if (link_frames_ > 0) {
        --link_frames_;
    } else {
        owner_.on_left(bytes);
    }
}

bool LinkWriter::send_gathered() {
    std::array<std::array<char, kFrameHeadBytes>, most_gathered> heads;
    std::array<iovec, 2 * most_gathered> pieces;
    std::size_t count = 0;
    std::size_t done = first_done_;
    for (std::size_t i = 0; i < std::min(pending_.size(), most_gathered); ++i, done = 0) {
        heads[i] = frame_head(pending_[i].size());
        for (std::size_t at = done; at < head_bytes_ + pending_[i].size();) {
            const std::string_view piece = rest_of({heads[i].data(), head_bytes_}, pending_[i], at);
            pieces[count++] = {const_cast<char*>(piece.data()), piece.size()};
            at += piece.size();
        }
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const auto sent = count_sent(::sendmsg(socket_, &message, MSG_NOSIGNAL));
    if (!sent) return false;
    take_off(*sent);
    return true;
}

void LinkWriter::take_off(std::size_t sent) {
    waiting_bytes_ -= sent;
    first_done_ += sent;
    while (!pending_.empty() && first_done_ >= head_bytes_ + pending_.front().size()) {
        first_done_ -= head_bytes_ + pending_.front().size();
        report_left(pending_.front().size());
        pending_.pop_front();
    }
}

bool LinkWriter::send_outgoing() {
    const auto sent = count_sent(
        ::send(socket_, outgoing_.data() + outgoing_done_, outgoing_.size() - outgoing_done_, MSG_NOSIGNAL));
    if (!sent) return false;
    outgoing_done_ += *sent;
    if (outgoing_done_ < outgoing_.size()) return true;
    outgoing_.clear();
    outgoing_done_ = 0;
    for (const std::size_t bytes : sealed_) report_left(bytes);
    sealed_.clear();
    return true;
}

// The bytes that the kernel has taken; nullopt: it takes none for now, or the way is broken.
std::optional<std::size_t> LinkWriter::count_sent(ssize_t result) {
    if (result >= 0) {
        sent_at_ = instant_now();
        return static_cast<std::size_t>(result);
    }
    if (errno == EINTR) return 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    error_ = errno;
    way_ = Way::broken;
    drop_all();
    return std::nullopt;
}

void LinkWriter::seal(TlsChannel& tls) {
    outgoing_ = tls.outgoing();
    while (tls.established() && !pending_.empty() && outgoing_.size() < most_sealed) {
        std::string piece;
        while (!pending_.empty() && piece.size() < sealed_piece) {
            const std::string& frame = pending_.front();
            const auto head = frame_head(frame.size());
            const std::string_view rest = rest_of({head.data(), head_bytes_}, frame, first_done_)
                                              .substr(0, sealed_piece - piece.size());
            piece.append(rest);
            first_done_ += rest.size();
            waiting_bytes_ -= rest.size();
            if (first_done_ < head_bytes_ + frame.size()) continue;
            sealed_.push_back(frame.size());
            pending_.pop_front();
            first_done_ = 0;
        }
        if (!tls.encrypt(piece)) {
            way_ = Way::broken;
            return drop_all();
        }
        outgoing_ += tls.outgoing();
    }
}

}  // namespace wq::net::frames

// How a link begins at a manager's end: with a worker's first frame, or with a question in plain text.

#include "net/frames/tcp_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "base/units.h"
#include "net/frames/http_request.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// After this many reads other links get their turn.
constexpr int most_reads = 4;
// A handshake with a chain of certificates takes a few kilobytes.
constexpr std::size_t most_greeting_bytes = 64u << 10;

std::string text_of(int error) {
    return std::system_category().message(error);
}

std::size_t greeting_frame(const TcpLimits& limits) {
    return std::min(limits.most_frame_bytes, limits.most_frame_bytes_before_admit);
}

bool looks_like_tls(std::string_view bytes) {
    return !bytes.empty() && bytes[0] >= 20 && bytes[0] <= 23;
}

// RFC 8446, 5.1: type, version, length. What announces more than a record may hold is whole, too: it is
// wrong.
bool has_whole_record(std::string_view bytes) {
    constexpr std::size_t head = 5;
    constexpr std::size_t most = (16u << 10) + 256;
    if (bytes.size() < head) return false;
    const std::size_t length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[3])) << 8 |
                               static_cast<unsigned char>(bytes[4]);
    return length > most || bytes.size() >= head + length;
}

}  // namespace

TcpLink::TcpLink(boost::asio::io_context& context, int descriptor, std::uint64_t serial, std::string address,
                 const TcpLinkPlan& plan, TcpLinkOwner& owner)
    : socket_(context, descriptor),
      serial_(serial),
      address_(std::move(address)),
      plan_(plan),
      owner_(owner) {}

// ---- the beginning ----

void TcpLink::begin_connecting(const std::string& host, Instant now) {
    state_ = State::connecting;
    deadline_ = now + plan_.connect;
    if (plan_.tls) tls_ = plan_.tls->channel(host);
    socket_.async_wait(stream_descriptor::wait_write, [self = shared_from_this()](const error_code& error) {
        if (!error && self->state_ == State::connecting) self->guarded([&] { self->on_connected(); });
    });
}

std::string TcpLink::local_address() {
    SocketAddress address;
    address.bytes = sizeof address.storage;
    if (::getsockname(socket_.native_handle(), address.get(), &address.bytes) != 0) return {};
    return to_text(address);
}

bool TcpLink::close_by() {
    SocketAddress here, there;
    here.bytes = there.bytes = sizeof here.storage;
    const int socket = socket_.native_handle();
    if (::getsockname(socket, here.get(), &here.bytes) != 0 ||
        ::getpeername(socket, there.get(), &there.bytes) != 0)
        return false;
    // Many machines have their own name at 127.0.1.1, and connect to it from 127.0.0.1.
    const std::string peer = host_of(there);
    return peer == host_of(here) || peer.starts_with("127.");
}

Instant TcpLink::heard_at() {
    const Instant now = instant_now();
    return now - since_last_arrival(socket_.native_handle());
}

// While a link is not read, its data may be stuck on the peer's machine; afterwards it needs a moment to
// arrive.
bool TcpLink::attentive() const {
    return !paused_ && !held_back_ && instant_now() - reads_since_ >= std::chrono::seconds(1);
}

void TcpLink::on_connected() {
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return fail({ExitCode::unreachable, text_of(error)});
    begin_connected(instant_now());
}

void TcpLink::begin_connected(Instant now) {
    state_ = State::greeting;
    deadline_ = now + plan_.limits.handshake;
    heard_at_ = sent_at_ = now;
    if (!plan_.tls && plan_.role == Role::worker) greet();  // a manager waits: stock clients read no hello
    if (tls_) tls_->start();
    flush();
    read();
}

void TcpLink::greet() {
    handshake_.emplace(plan_.role, plan_.key, tls_ ? tls_->binding() : std::string(), fresh_nonce());
    queue_frame(handshake_->hello());
}

bool TcpLink::on_greeting(std::string_view frame) {
    const std::string answer = handshake_->on_frame(frame);
    if (!answer.empty()) queue_frame(answer);
    if (handshake_->going()) return true;
    if (!handshake_->done()) {
        fail(handshake_->failure());
        return false;
    }
    handshake_.reset();
    state_ = State::open;
    const TcpLimits& limits = plan_.limits;
    splitter_.allow(plan_.role == Role::worker ? limits.most_frame_bytes : greeting_frame(limits));
    owner_.on_ready(*this);
    return state_ == State::open;
}

// ---- reading ----

void TcpLink::read() {
    if (reading_ || paused_ || held_back_ || deaf_ || state_ == State::gone) return;
    reading_ = true;
    socket_.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
        self->reading_ = false;
        if (!error && self->state_ != State::gone) self->guarded([&] { self->on_readable(); });
    });
}

void TcpLink::resume() {
    paused_ = false;
    heard_at_ = reads_since_ = instant_now();
    read();
}

void TcpLink::go_on() {
    held_back_ = false;
    heard_at_ = reads_since_ = instant_now();
    read();
}

void TcpLink::admit() {
    if (state_ == State::open) splitter_.allow(plan_.limits.most_frame_bytes);
}

bool TcpLink::tell_begun() {
    if (state_ != State::open || !splitter_.in_frame()) {
        tell_whole();
        return true;
    }
    has_begun_ = true;
    return owner_.on_begun(*this, splitter_.held(), splitter_.received());
}

void TcpLink::tell_whole() {
    if (std::exchange(has_begun_, false)) owner_.on_begun(*this, 0, 0);
}

void TcpLink::on_readable() {
    bool more = true;
    for (int reads = 0; more && reads < most_reads; ++reads) {
        const std::span<char> buffer = owner_.read_buffer();
        const ssize_t got = recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (got == 0 && asks_ && state_ != State::gone) return asked_all();
        if (got <= 0) return peer_ended(got < 0 ? errno : 0);
        heard_at_ = instant_now();
        more = take_bytes({buffer.data(), static_cast<std::size_t>(got)});
        if (more) held_back_ = !tell_begun();
        more = more && !held_back_ && static_cast<std::size_t>(got) == buffer.size();
    }
    if (state_ == State::open && !frames_.empty()) paused_ = !owner_.on_frames(*this, frames_);
    flush();
    read();
}

bool TcpLink::take_bytes(std::string_view bytes) {
    if (state_ == State::leaving || asks_) return true;
    const bool first = heard_bytes_ == 0;
    if (state_ == State::greeting) heard_bytes_ += bytes.size();
    if (!plan_.tls) return take_plain(bytes);
    const bool plain = first ? !looks_like_tls(bytes) : !tls_ && !door_.empty();
    if (plain) return refuse_plain(bytes);
    if (tls_) return on_tls(bytes);
    // A TLS state takes 46 KB (OpenSSL 3.0): who is silent, or sends half a record, gets none.
    first_record_ += bytes;
    if (!has_whole_record(first_record_)) return true;
    tls_ = plan_.tls->channel({});
    return on_tls(std::exchange(first_record_, {}));
}

// The peer does not use TLS and only understands plain text.
bool TcpLink::refuse_plain(std::string_view bytes) {
    tls_.reset();
    if (plan_.role == Role::manager) return at_door(bytes);
    const auto frame = splitter_.take(bytes);
    Handshake reader(plan_.role, {}, {}, {});
    const bool told_why = frame && frame->front() == refusal({}, {}).front();
    if (told_why) reader.on_frame(*frame);
    fail(told_why ? reader.failure() : Error{ExitCode::not_allowed, "it does not use TLS: do without --ssl"});
    return false;
}

bool TcpLink::on_tls(std::string_view bytes) {
    std::string plain;
    const bool was_established = tls_->established();
    const bool sound = tls_->take(bytes, plain);
    // Even if the bytes after the handshake are broken, those before them count.
    if (!was_established && tls_->established() && plan_.role == Role::worker) greet();
    if (!plain.empty() && !take_plain(plain)) return false;
    if (!sound) {
        fail({ExitCode::not_allowed, tls_->why()});
        return false;
    }
    return true;
}

bool TcpLink::take_plain(std::string_view bytes) {
    if (!handshake_ && state_ == State::greeting) return at_door(bytes);
    while (auto frame = splitter_.take(bytes)) {
        if (state_ == State::open) {
            frames_.push_back(std::move(*frame));
            tell_whole();  // also if the next frame begins in the same bytes: then it is another link's turn
        } else if (!on_greeting(*frame)) {
            return false;
        }
    }
    if (state_ == State::greeting && heard_bytes_ > most_greeting_bytes) {
        fail({ExitCode::not_allowed, "it sent much data, but no handshake"});
        return false;
    }
    if (!splitter_.too_long()) return true;
    if (state_ == State::greeting)
        refuse(ExitCode::not_allowed,
               "this is a port of work_queue, and you did not send a work_queue frame");
    fail({ExitCode::not_allowed, frame_problem()});
    return false;
}

std::string TcpLink::frame_problem() const {
    if (state_ == State::greeting) return guess_protocol(splitter_.head());
    return "it announced a frame of " + std::to_string(splitter_.announced()) + " bytes; the most is " +
           std::to_string(splitter_.most()) +
           (splitter_.most() < plan_.limits.most_frame_bytes ? " before the handshake" : "");
}

void TcpLink::peer_ended(int error) {
    std::string why = error != 0 ? text_of(error) : "it closed the connection";
    if (state_ == State::greeting)
        why += heard_bytes_ > 0 ? " during the handshake" : " without sending anything";
    if (splitter_.in_frame()) why += " in the middle of a frame";
    closed_by_peer_ = error == 0;
    fail({ExitCode::unreachable, std::move(why)});
    vanish();
}

// ---- writing ----

void TcpLink::send(std::string frame) {
    if (state_ != State::open || frame.empty() || broken_) return owner_.on_left(frame.size());
    const std::size_t bytes = frame.size();
    if (bytes <= plan_.limits.most_frame_bytes) {
        if (!guarded([&] { queue_frame(std::move(frame)); })) owner_.on_left(bytes);
        return;
    }
    owner_.on_left(bytes);
    guarded([&] {
        fail({ExitCode::internal, "a frame of " + std::to_string(bytes) +
                                      " bytes is too large to send to it; the most is " +
                                      std::to_string(plan_.limits.most_frame_bytes)});
    });
}

void TcpLink::queue_frame(std::string frame) {
    if (pending_.empty() && outgoing_.empty()) waiting_since_ = instant_now();
    const std::size_t bytes = frame.size();
    pending_.push_back(std::move(frame));
    if (state_ != State::open && bytes > 0) ++own_frames_;
    pending_bytes_ += head_bytes() + bytes;
    owes_ = asks_;
}

void TcpLink::flush() {
    if (!writing_ && state_ != State::gone && state_ != State::connecting) write();
}

void TcpLink::await_writable() {
    writing_ = true;
    socket_.async_wait(stream_descriptor::wait_write, [self = shared_from_this()](const error_code& error) {
        self->writing_ = false;
        if (!error && self->state_ != State::gone) self->guarded([&] { self->write(); });
    });
}

void TcpLink::frame_left(std::size_t bytes) {
    if (bytes == 0) return;
    if (own_frames_ > 0) {
        --own_frames_;
    } else {
        owner_.on_left(bytes);
    }
}

void TcpLink::drop_unsent() {
    for (const std::size_t bytes : sealed_) frame_left(bytes);
    for (const std::string& frame : pending_) frame_left(frame.size());
    sealed_.clear();
    pending_.clear();
    outgoing_.clear();
    first_done_ = outgoing_done_ = pending_bytes_ = 0;
}

namespace {

// Who asks and does not read holds about twice this much of the kernel's memory.
constexpr int unread_answer = 128 << 10;

}  // namespace

bool TcpLink::at_door(std::string_view bytes) {
    door_ += bytes;
    PlainRequest request = plain_request(door_);
    const bool lacks_tls = plan_.tls && !tls_;
    switch (request.is) {
        case PlainRequest::Is::unfinished:
            return true;
        case PlainRequest::Is::foreign:
            return begin_as_worker();
        case PlainRequest::Is::wrong:
            return send_away(std::move(request.answer), "it asked by HTTP for something else");
        case PlainRequest::Is::question:
            break;
    }
    std::string why = plan_.plain_refusal;
    if (lacks_tls && why.empty()) why = "this manager uses TLS: ask by https, or with --ssl";
    if (!why.empty())
        return send_away(plain_refusal(request.http, why), "it asked for the status in plain text");
    door_ = {};
    asks_ = true;
    state_ = State::open;
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDBUF, &unread_answer, sizeof unread_answer);
    owner_.on_question(*this, std::move(request.question));
    return state_ == State::open;
}

bool TcpLink::begin_as_worker() {
    const std::string heard = std::exchange(door_, {});
    if (plan_.tls && !tls_) {
        refuse(ExitCode::not_allowed, "this manager uses TLS: use --contact FILE or --ssl");
        fail({ExitCode::not_allowed, "it does not use TLS, but this manager does"});
        return false;
    }
    greet();
    return take_plain(heard);
}

bool TcpLink::send_away(std::string answer, const std::string& why) {
    asks_ = true;
    queue_frame(std::move(answer));
    fail({ExitCode::unreachable, why});
    return false;
}

// To a peer that has begun in plain text, a frame would be noise.
void TcpLink::refuse(ExitCode code, std::string_view reason) {
    if (door_.empty()) queue_frame(refusal(code, reason));
}

void TcpLink::asked_all() {
    deaf_ = true;
    if (state_ == State::leaving && !unsent()) return vanish();
    flush();
}

std::optional<Instant> TcpLink::waits_since() const {
    if (!unsent()) return std::nullopt;
    return std::max(sent_at_, waiting_since_);
}

// The end of a link: normal, by a timeout, or by an error.

namespace {

// How long a refused unauthenticated peer may take to read the reason.
constexpr Duration greeting_linger = std::chrono::seconds(1);

}  // namespace

void TcpLink::tick(Instant now) {
    const TcpLimits& limits = plan_.limits;
    if (state_ != State::open) {
        if (now < deadline_) return;
        if (state_ == State::leaving) return vanish();
        if (state_ == State::connecting)
            return fail({ExitCode::unreachable, "no answer within " + format_duration(plan_.connect)});
        refuse(ExitCode::unreachable, "no handshake within " + format_duration(limits.handshake));
        const std::string what = heard_bytes_ > 0 ? "no complete handshake" : "nothing received";
        const std::string doubt = plan_.role == Role::worker ? "; is this a Work Queue manager?" : "";
        return fail({ExitCode::unreachable, what + " within " + format_duration(limits.handshake) + doubt});
    }
    if (asks_) {
        if (const auto since = waits_since(); since && now - *since > limits.handshake)
            fail({ExitCode::unreachable, "it did not read its answer"});
        return;
    }
    if (!paused_ && !held_back_ && now - heard_at_ > limits.silence)
        return fail({ExitCode::unreachable, "it was silent for " + format_duration(limits.silence)});
    if (pending_bytes_ > limits.most_unsent_bytes &&
        now - std::max(sent_at_, waiting_since_) > limits.stalled)
        return fail({ExitCode::unreachable,
                     "it has received nothing for " + format_duration(limits.stalled) + " while " +
                         format_size(static_cast<std::int64_t>(pending_bytes_)) + " wait for it"});
    if (now - sent_at_ >= limits.keep_alive && !unsent()) {
        queue_frame({});
        flush();
    }
}

void TcpLink::forgive(Duration pause) {
    heard_at_ += pause;
    sent_at_ += pause;
    waiting_since_ += pause;
    deadline_ += pause;
}

void TcpLink::close() {
    told_ = true;
    // Who has not joined is owed nothing: silent strangers would delay the end of a manager.
    if (state_ != State::open && (state_ != State::greeting || !unsent())) return vanish();
    leave();
}

void TcpLink::end(Error why) {
    fail(std::move(why));
}

void TcpLink::drop(const Error& why, const std::string& told) {
    const auto self = shared_from_this();
    if (state_ == State::greeting) {
        refuse(why.code, told);
        flush();
    }
    if (!std::exchange(told_, true)) owner_.on_end(*this, why);
    vanish();
}

// First free the link's own data: it may be all the memory.
void TcpLink::break_off(const std::exception& why) noexcept {
    const auto self = shared_from_this();
    splitter_ = FrameSplitter(0);
    try {
        const bool memory = dynamic_cast<const std::bad_alloc*>(&why) != nullptr;
        fail(
            {ExitCode::internal, std::string("this end failed: ") + (memory ? "out of memory" : why.what())});
    } catch (const std::exception&) {  // then it ends without the reason
    }
    vanish();
}

void TcpLink::fail(Error why) {
    if (state_ == State::gone) return;
    const auto self = shared_from_this();  // the owner may release us
    const State before = state_;
    // Otherwise the kernel would keep sending, and the peer would hear us after we gave it up.
    if (before == State::open) drop_on_close(socket_.native_handle());
    if (before == State::open && !frames_.empty() && !told_) owner_.on_frames(*this, frames_);
    if (before != State::leaving && !std::exchange(told_, true)) owner_.on_end(*this, why);
    if (before == State::greeting) return leave();
    vanish();
}

void TcpLink::leave() {
    if (state_ == State::leaving || state_ == State::gone) return;
    const bool was_greeting = state_ == State::greeting;
    state_ = State::leaving;
    paused_ = held_back_ = false;
    deadline_ = instant_now() + (asks_ && !was_greeting ? plan_.limits.handshake
                                 : was_greeting         ? std::min(plan_.limits.linger, greeting_linger)
                                                        : plan_.limits.linger);
    flush();
    read();
}

void TcpLink::vanish() {
    if (state_ == State::gone) return;
    state_ = State::gone;
    if (unsent()) drop_on_close(socket_.native_handle());
    drop_unsent();
    boost::system::error_code ignored;
    socket_.close(ignored);
    owner_.on_gone(*this);
}

// Writing a link's frames: gathered from their buffers, or encrypted in pieces of 64 KiB.

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
        if (!tls_->encrypt(piece)) {
            broken_ = true;
            return drop_unsent();
        }
        outgoing_ += tls_->outgoing();
    }
}

}  // namespace wq::net::frames

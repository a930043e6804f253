#include "net/frames/tcp_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "base/units.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// After this many reads other links get their turn.
constexpr int most_reads = 4;
// How long a refused unauthenticated peer may take to read the reason.
constexpr Duration greeting_linger = std::chrono::seconds(1);
// Who asks and does not read holds about twice this much of the kernel's memory.
constexpr int unread_answer = 128 << 10;

std::string text_of(int error) {
    return std::system_category().message(error);
}

}  // namespace

TcpLink::TcpLink(boost::asio::io_context& context, int descriptor, std::uint64_t serial, std::string address,
                 const TcpLinkPlan& plan, TcpLinkOwner& owner)
    : socket_(context, descriptor),
      serial_(serial),
      address_(std::move(address)),
      plan_(plan),
      owner_(owner),
      writer_(descriptor, owner) {}

// ---- the beginning ----

void TcpLink::begin_connecting(const std::string& host, Instant now) {
    state_ = State::connecting;
    deadline_ = now + plan_.connect;
    reader_.prepare_tls(host);
    socket_.async_wait(stream_descriptor::wait_write, [self = shared_from_this()](const error_code& error) {
        if (!error && self->state_ == State::connecting) self->guarded([&] { self->on_connected(); });
    });
}

// While a link is not read, its data may be stuck on the peer's machine; afterwards it needs a moment to
// arrive.
bool TcpLink::attentive() const {
    return held_.none() && instant_now() - reads_since_ >= std::chrono::seconds(1);
}

void TcpLink::on_connected() {
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return end({ExitCode::unreachable, text_of(error)});
    begin_connected(instant_now());
}

void TcpLink::begin_connected(Instant now) {
    state_ = State::greeting;
    deadline_ = now + plan_.limits.handshake;
    heard_at_ = now;
    writer_.begin(now);
    reader_.begin();
    flush();
    read();
}

// ---- reading ----

void TcpLink::read() {
    if (awaited_[to_read] || held_.any() || reader_.asked_all() || state_ == State::gone) return;
    awaited_.set(to_read);
    socket_.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
        self->awaited_.reset(to_read);
        if (!error && self->state_ != State::gone) self->guarded([&] { self->on_readable(); });
    });
}

void TcpLink::resume(Hold over) {
    held_.reset(over);
    heard_at_ = reads_since_ = instant_now();
    read();
}

void TcpLink::admit() {
    if (state_ == State::open) reader_.admit();
}

void TcpLink::on_readable() {
    bool more = true;
    for (int reads = 0; more && reads < most_reads; ++reads) {
        const std::span<char> buffer = owner_.read_buffer();
        const ssize_t got = recv(descriptor(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (got <= 0) return peer_ended(got < 0 ? errno : 0);
        heard_at_ = instant_now();
        const auto bytes = static_cast<std::size_t>(got);
        const std::size_t known = frames_.size();
        more = state_ == State::leaving || act_on(reader_.take({buffer.data(), bytes}, frames_));
        if (more) held_.set(for_memory, !count_begun(frames_.size() - known));
        more = more && !held_[for_memory] && bytes == buffer.size();
    }
    if (state_ == State::open && !frames_.empty()) held_.set(for_frames, !owner_.on_frames(*this, frames_));
    flush();
    read();
}

// Whether the link goes on as it is.
bool TcpLink::act_on(LinkReader::Heard heard) {
    const bool begins = heard.joined || heard.question;
    if (begins) state_ = State::open;
    if (heard.joined) owner_.on_ready(*this);
    if (heard.question) {
        ::setsockopt(descriptor(), SOL_SOCKET, SO_SNDBUF, &unread_answer, sizeof unread_answer);
        owner_.on_question(*this, std::move(*heard.question));
    }
    if (begins && state_ != State::open) return false;  // the owner did not want it
    if (!heard.failure) return true;
    end(*heard.failure);
    return false;
}

// Returns whether there is memory to read on. If a frame is complete and the next one has begun in the same
// bytes, it is another link's turn.
bool TcpLink::count_begun(std::size_t whole_frames) {
    const FrameSplitter& splitter = reader_.splitter();
    const bool begun = state_ == State::open && splitter.in_frame();
    if ((whole_frames > 0 || !begun) && std::exchange(has_begun_, false)) owner_.on_begun(*this, 0, 0);
    if (!begun) return true;
    has_begun_ = true;
    return owner_.on_begun(*this, splitter.held(), splitter.received());
}

void TcpLink::peer_ended(int error) {
    if (error == 0 && reader_.asks() && state_ != State::gone) {
        reader_.take_end();
        if (state_ == State::leaving && !writer_.unsent()) return vanish();
        return flush();
    }
    std::string why = error != 0 ? text_of(error) : "it closed the connection";
    if (state_ == State::greeting)
        why += reader_.heard_any() ? " during the handshake" : " without sending anything";
    if (reader_.splitter().in_frame()) why += " in the middle of a frame";
    closed_by_peer_ = error == 0;
    end({ExitCode::unreachable, std::move(why)});
    vanish();
}

// ---- writing ----

void TcpLink::send(std::string frame) {
    if (state_ != State::open || frame.empty() || writer_.broken()) return owner_.on_left(frame.size());
    const std::size_t bytes = frame.size();
    if (bytes <= plan_.limits.most_frame_bytes) {
        if (!guarded([&] { writer_.add(std::move(frame), LinkWriter::From::owner); })) owner_.on_left(bytes);
        return;
    }
    owner_.on_left(bytes);
    guarded([&] {
        end({ExitCode::internal, "a frame of " + std::to_string(bytes) +
                                     " bytes is too large to send to it; the most is " +
                                     std::to_string(plan_.limits.most_frame_bytes)});
    });
}

void TcpLink::flush() {
    if (!awaited_[to_write] && state_ != State::gone && state_ != State::connecting) write();
}

// Until the kernel accepts no more or nothing is left. A link that cannot be written can still be read: the
// peer may have sent the reason.
void TcpLink::write() {
    const auto self = shared_from_this();
    const bool answers = reader_.asks() && writer_.has_frames();  // the rest of an answer may leave now
    const LinkWriter::Written written = writer_.write(reader_.tls());
    if (written == LinkWriter::Written::some) {
        awaited_.set(to_write);
        return socket_.async_wait(stream_descriptor::wait_write, [self](const error_code& error) {
            self->awaited_.reset(to_write);
            if (!error && self->state_ != State::gone) self->guarded([&] { self->write(); });
        });
    }
    if (written == LinkWriter::Written::failed)
        return reader_.asks() ? end({ExitCode::unreachable, text_of(writer_.error())}) : read();
    if (writer_.broken()) return;
    if (state_ == State::open && answers) return owner_.on_answer_taken(*this);
    if (state_ != State::leaving) return;
    if (reader_.tls() && writer_.add_end(*reader_.tls())) return write();
    ::shutdown(descriptor(), SHUT_WR);
    if (reader_.asked_all()) vanish();
}

// ---- the end: normal, by a timeout, or by an error ----

void TcpLink::tick(Instant now) {
    const TcpLimits& limits = plan_.limits;
    if (state_ != State::open) {
        if (now < deadline_) return;
        if (state_ == State::leaving) return vanish();
        if (state_ == State::connecting)
            return end({ExitCode::unreachable, "no answer within " + format_duration(plan_.connect)});
        reader_.refuse(ExitCode::unreachable, "no handshake within " + format_duration(limits.handshake));
        const std::string what = reader_.heard_any() ? "no complete handshake" : "nothing received";
        const std::string doubt = plan_.role == Role::worker ? "; is this a Work Queue manager?" : "";
        return end({ExitCode::unreachable, what + " within " + format_duration(limits.handshake) + doubt});
    }
    if (reader_.asks()) {
        if (const auto since = writer_.waits_since(); since && now - *since > limits.handshake)
            end({ExitCode::unreachable, "it did not read its answer"});
        return;
    }
    if (held_.none() && now - heard_at_ > limits.silence)
        return end({ExitCode::unreachable, "it was silent for " + format_duration(limits.silence)});
    const std::size_t waiting = writer_.waiting_bytes();
    if (waiting > limits.most_unsent_bytes && now - writer_.progress_at() > limits.stalled)
        return end({ExitCode::unreachable, "it has received nothing for " + format_duration(limits.stalled) +
                                               " while " + format_size(static_cast<std::int64_t>(waiting)) +
                                               " wait for it"});
    if (now - writer_.sent_at() >= limits.keep_alive && !writer_.unsent()) {
        writer_.add({}, LinkWriter::From::link);
        flush();
    }
}

void TcpLink::forgive(Duration pause) {
    heard_at_ += pause;
    writer_.forgive(pause);
    deadline_ += pause;
}

void TcpLink::close() {
    told_ = true;
    // Who has not joined is owed nothing: silent strangers would delay the end of a manager.
    if (state_ != State::open && (state_ != State::greeting || !writer_.unsent())) return vanish();
    leave();
}

void TcpLink::drop(const Error& why, const std::string& told) {
    const auto self = shared_from_this();
    if (state_ == State::greeting) {
        reader_.refuse(why.code, told);
        flush();
    }
    if (!std::exchange(told_, true)) owner_.on_end(*this, why);
    vanish();
}

// First free the link's own data: it may be all the memory.
void TcpLink::break_off(const std::exception& why) noexcept {
    const auto self = shared_from_this();
    reader_.free_memory();
    try {
        const bool memory = dynamic_cast<const std::bad_alloc*>(&why) != nullptr;
        end({ExitCode::internal, std::string("this end failed: ") + (memory ? "out of memory" : why.what())});
    } catch (const std::exception&) {  // then it ends without the reason
    }
    vanish();
}

void TcpLink::end(const Error& why) {
    if (state_ == State::gone) return;
    const auto self = shared_from_this();  // the owner may release us
    const State before = state_;
    // Otherwise the kernel would keep sending, and the peer would hear us after we gave it up.
    if (before == State::open) drop_on_close(descriptor());
    if (before == State::open && !frames_.empty() && !told_) owner_.on_frames(*this, frames_);
    if (before != State::leaving && !std::exchange(told_, true)) owner_.on_end(*this, why);
    if (before == State::greeting) return leave();
    vanish();
}

void TcpLink::leave() {
    if (state_ == State::leaving || state_ == State::gone) return;
    const bool was_greeting = state_ == State::greeting;
    state_ = State::leaving;
    held_.reset();
    deadline_ = instant_now() + (reader_.asks() && !was_greeting ? plan_.limits.handshake
                                 : was_greeting ? std::min(plan_.limits.linger, greeting_linger)
                                                : plan_.limits.linger);
    flush();
    read();
}

void TcpLink::vanish() {
    if (state_ == State::gone) return;
    state_ = State::gone;
    if (writer_.unsent()) drop_on_close(descriptor());
    writer_.drop_all();
    boost::system::error_code ignored;
    socket_.close(ignored);
    owner_.on_gone(*this);
}

}  // namespace wq::net::frames

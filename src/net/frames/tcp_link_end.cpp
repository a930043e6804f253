// The end of a link: normal, by a timeout, or by an error.
#include <sys/socket.h>

#include <new>

#include "base/units.h"
#include "net/frames/tcp_link.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

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
        put({});
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

}  // namespace wq::net::frames

// How a link begins at a manager's end: with a worker's first frame, or with a question in plain text.
#include <sys/socket.h>

#include <algorithm>

#include "net/frames/plain_request.h"
#include "net/frames/tcp_link.h"

namespace wq::net::frames {

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
    put(std::move(answer));
    fail({ExitCode::unreachable, why});
    return false;
}

// To a peer that has begun in plain text, a frame would be noise.
void TcpLink::refuse(ExitCode code, std::string_view reason) {
    if (door_.empty()) put(refusal(code, reason));
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

}  // namespace wq::net::frames

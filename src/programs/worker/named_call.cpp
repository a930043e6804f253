#include "programs/worker/named_call.h"

#include <utility>

namespace wq::programs::worker {

NamedCall::NamedCall(std::function<Found(int)> find,
                     std::function<Result<std::unique_ptr<net::frames::TcpDialer>>(Found)> dial)
    : dial_(std::move(dial)) {
    search_.post([this, find = std::move(find), stop = stop_.descriptor()]() -> Background::Then {
        return [this, found = find(stop)]() mutable { take(std::move(found)); };
    });
}

NamedCall::~NamedCall() {
    stop_.set();
}

void NamedCall::take(Found found) {
    auto line = dial_(std::move(found));
    if (line)
        line_ = std::move(*line);
    else
        failure_ = line.error();
}

void NamedCall::send(net::frames::PeerId peer, std::string frame) {
    if (line_) line_->send(peer, std::move(frame));
}

bool NamedCall::poll(std::vector<net::frames::Arrival>& inbox) {
    if (!line_ && !failure_) search_.finish();
    if (line_) return line_->poll(inbox);
    if (!failure_ || std::exchange(told_failure_, true)) return false;
    inbox.push_back(net::frames::Left{manager, failure_->message});
    return true;
}

void NamedCall::expect_until(Instant until) {
    if (line_) line_->expect_until(until);
}

void NamedCall::close(net::frames::PeerId peer) {
    if (line_) line_->close(peer);
}

std::vector<int> NamedCall::descriptors() const {
    return line_ ? line_->descriptors() : std::vector<int>{search_.descriptor()};
}

std::vector<net::frames::Note> NamedCall::take_notes() {
    return line_ ? line_->take_notes() : std::vector<net::frames::Note>{};
}

}  // namespace wq::programs::worker

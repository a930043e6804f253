#include "net/frames/tcp_mailbox.h"

#include "base/result.h"

namespace wq::net::frames {

namespace {

PeerId peer_of(const Arrival& arrival) {
    return std::visit([](const auto& what) { return what.peer; }, arrival);
}

}  // namespace

TcpMailbox::TcpMailbox(std::function<void()> wake) : wake_(std::move(wake)) {
    if (!event_.valid())
        throw Failure{{ExitCode::unreachable, "no descriptor is left for a connection; raise 'ulimit -n'"}};
}

void TcpMailbox::send(PeerId peer, std::string frame) {
    unsent_.fetch_add(frame.size() + 1, std::memory_order_acq_rel);
    order({TcpOrder::What::send, peer, std::move(frame)});
}

void TcpMailbox::admit(PeerId peer) {
    order({TcpOrder::What::admit, peer, {}});
}

void TcpMailbox::hold_back(PeerId peer, bool on) {
    order({on ? TcpOrder::What::hold_back : TcpOrder::What::go_on, peer, {}});
}

void TcpMailbox::close(PeerId peer) {
    closing_.insert(peer);
    order({TcpOrder::What::close, peer, {}});
}

void TcpMailbox::order(TcpOrder order) {
    {
        std::lock_guard lock(mutex_);
        orders_.push_back(std::move(order));
        if (std::exchange(woken_, true)) return;
    }
    wake_();
}

void TcpMailbox::take_orders(std::vector<TcpOrder>& orders) {
    std::lock_guard lock(mutex_);
    orders.clear();
    orders.swap(orders_);
    woken_ = false;
}

void TcpMailbox::deliver(Arrival arrival) {
    std::lock_guard lock(mutex_);
    if (arrivals_.empty()) event_.set();
    arrivals_.push_back(std::move(arrival));
}

std::uint64_t TcpMailbox::deliver(PeerId peer, std::vector<std::string>& frames, bool close_by) {
    std::lock_guard lock(mutex_);
    undelivered_.fetch_add(cost_of(frames), std::memory_order_relaxed);
    if (arrivals_.empty() && !frames.empty()) event_.set();
    for (std::string& frame : frames) arrivals_.push_back(Frame{peer, std::move(frame), close_by});
    frames.clear();
    return takes_;
}

void TcpMailbox::closed(PeerId peer) {
    std::lock_guard lock(mutex_);
    closed_.push_back(peer);
}

bool TcpMailbox::take(std::vector<Arrival>& inbox) {
    std::vector<Arrival> arrivals;
    std::vector<PeerId> closed;
    bool wake = false;
    {
        std::lock_guard lock(mutex_);
        if (!arrivals_.empty()) {
            event_.clear();
            arrivals.swap(arrivals_);
            undelivered_.store(0, std::memory_order_relaxed);
            ++takes_;
            wake = std::exchange(wake_when_taken_, false);
        }
        closed.swap(closed_);
    }
    if (wake) wake_();
    const std::size_t before = inbox.size();
    if (closing_.empty() && inbox.empty()) {
        inbox.swap(arrivals);
    } else {
        for (Arrival& arrival : arrivals)
            if (!closing_.contains(peer_of(arrival))) inbox.push_back(std::move(arrival));
    }
    for (const PeerId peer : closed) closing_.erase(peer);
    return inbox.size() > before;
}

void TcpMailbox::wake_when_taken() {
    {
        std::lock_guard lock(mutex_);
        if (!arrivals_.empty()) {
            wake_when_taken_ = true;
            return;
        }
    }
    wake_();  // the caller has taken it meanwhile
}

bool TcpMailbox::awaits_taking() const {
    std::lock_guard lock(mutex_);
    return wake_when_taken_;
}

void TcpMailbox::left(std::size_t frame_bytes) {
    unsent_.fetch_sub(frame_bytes + 1, std::memory_order_acq_rel);
}

}  // namespace wq::net::frames

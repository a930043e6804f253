#include "net/frames/loopback.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/descriptor.h"

namespace wq::net::frames {

namespace {

PeerId source_of(const Arrival& arrival) {
    return std::visit([](const auto& what) { return what.peer; }, arrival);
}

std::string address_of(PeerId peer) {
    return "loopback:" + std::to_string(peer.value());
}

}  // namespace

class LoopbackEndpoint final : public Transport {
  public:
    LoopbackEndpoint(LoopbackNetwork& network, PeerId self) : network_(network), self_(self) {}

    void send(PeerId peer, std::string frame) override { network_.send(self_, peer, std::move(frame)); }
    bool poll(std::vector<Arrival>& inbox) override { return network_.receive(self_, inbox); }
    void close(PeerId peer) override { network_.close(self_, peer); }
    bool idle() const override { return true; }  // sent frames have left: losing them is up to the network
    std::vector<int> descriptors() const override { return {}; }

  private:
    LoopbackNetwork& network_;
    PeerId self_;
};

LoopbackNetwork::LoopbackNetwork(std::uint32_t peers, std::uint64_t seed, LoopbackFaults faults)
    : faults_(faults), random_(seed), peers_(peers) {}

PeerId LoopbackNetwork::add() {
    peers_.emplace_back();
    return PeerId(static_cast<std::uint32_t>(peers_.size() - 1));
}

std::unique_ptr<Transport> LoopbackNetwork::endpoint(PeerId self) {
    return std::make_unique<LoopbackEndpoint>(*this, self);
}

bool LoopbackNetwork::connect(PeerId a, PeerId b) {
    if (a == b || lines_.contains({a, b})) return false;
    lines_[{a, b}] = {true, now_};
    lines_[{b, a}] = {true, now_};
    deliver(a, b, Joined{a, address_of(a)}, Duration{0});
    deliver(b, a, Joined{b, address_of(b)}, Duration{0});
    return true;
}

void LoopbackNetwork::cut(PeerId a, PeerId b, const std::string& why, Cut how) {
    if (!open_line(a, b) && !open_line(b, a)) return;
    ++counts_.cuts;
    end_line(a, b, {a, why, how == Cut::closed}, OnTheWay::may_be_lost);
    end_line(b, a, {b, why, how == Cut::closed}, OnTheWay::may_be_lost);
}

void LoopbackNetwork::crash(PeerId peer, const std::string& why) {
    std::vector<PeerId> others;  // only these: histories with kills have thousands of peers
    for (auto line = lines_.lower_bound({peer, PeerId(0)}); line != lines_.end() && line->first.first == peer;
         ++line)
        others.push_back(line->first.second);
    for (const PeerId other : others) cut(peer, other, why, Cut::closed);
    silence(peer);
}

void LoopbackNetwork::silence(PeerId peer) {
    peers_[peer.value()].silent = true;
    peers_[peer.value()].inbox.clear();
}

std::optional<Instant> LoopbackNetwork::next_arrival() const {
    std::optional<Instant> first;
    for (const Peer& peer : peers_) {
        if (peer.inbox.empty()) continue;
        const Instant due = peer.inbox.front().due;
        if (!first || due < *first) first = due;
    }
    return first;
}

void LoopbackNetwork::send(PeerId from, PeerId to, std::string frame) {
    ++counts_.sent;
    if (!open_line(from, to) || peers_[from.value()].silent || peers_[to.value()].silent) {
        ++counts_.lost;
        return;
    }
    if (happens(faults_.cut)) {
        ++counts_.lost;
        cut(from, to, "connection lost");
        return;
    }
    const Duration later = happens(faults_.delay) ? some_delay() : Duration{0};
    const bool twice = happens(faults_.duplicate);
    if (happens(faults_.reorder) && overtake(from, to, frame)) ++counts_.reordered;
    if (twice) {
        ++counts_.duplicates;
        deliver(from, to, Frame{from, frame}, later);
    }
    deliver(from, to, Frame{from, std::move(frame)}, later);
}

bool LoopbackNetwork::receive(PeerId self, std::vector<Arrival>& inbox) {
    std::deque<Item>& waiting = peers_[self.value()].inbox;
    bool moved = false;
    while (!waiting.empty() && waiting.front().due <= now_) {
        if (std::holds_alternative<Frame>(waiting.front().arrival)) ++counts_.delivered;
        inbox.push_back(std::move(waiting.front().arrival));
        waiting.pop_front();
        moved = true;
    }
    return moved;
}

void LoopbackNetwork::close(PeerId self, PeerId peer) {
    if (Line* incoming = open_line(peer, self)) incoming->open = false;
    discard_from(peer, self, 0);
    end_line(self, peer, {self, "closed by the peer", true}, OnTheWay::arrive);
}

LoopbackNetwork::Line* LoopbackNetwork::open_line(PeerId from, PeerId to) {
    const auto found = lines_.find({from, to});
    return found != lines_.end() && found->second.open ? &found->second : nullptr;
}

void LoopbackNetwork::deliver(PeerId from, PeerId to, Arrival arrival, Duration later) {
    Peer& receiver = peers_[to.value()];
    if (receiver.silent) return;
    Line& line = lines_.at({from, to});
    line.last_due = std::max(now_ + later, line.last_due);
    auto place = receiver.inbox.end();
    while (place != receiver.inbox.begin() && std::prev(place)->due > line.last_due) --place;
    receiver.inbox.insert(place, {line.last_due, std::move(arrival)});
}

void LoopbackNetwork::end_line(PeerId from, PeerId to, Left last, OnTheWay frames) {
    Line* line = open_line(from, to);
    if (!line) return;
    if (frames == OnTheWay::may_be_lost) discard_from(from, to, random_() % 8);
    line->open = false;
    deliver(from, to, std::move(last), Duration{0});
}

// Swaps the new frame with the last one in flight, which follows as if it had been sent now.
bool LoopbackNetwork::overtake(PeerId from, PeerId to, std::string& frame) {
    std::deque<Item>& inbox = peers_[to.value()].inbox;
    for (auto item = inbox.rbegin(); item != inbox.rend(); ++item) {
        if (source_of(item->arrival) != from) continue;
        Frame* before = std::get_if<Frame>(&item->arrival);
        if (!before) return false;
        before->bytes.swap(frame);
        return true;
    }
    return false;
}

// Drops frames in flight from `from` to `to`, except the first `keep`. A Joined always stays, so that every
// Left has one, unless `keep` is 0.
void LoopbackNetwork::discard_from(PeerId from, PeerId to, std::size_t keep) {
    std::deque<Item>& inbox = peers_[to.value()].inbox;
    const bool all = !open_line(from, to);
    std::erase_if(inbox, [&](const Item& item) {
        if (source_of(item.arrival) != from) return false;
        if (!std::holds_alternative<Frame>(item.arrival)) return all;
        if (keep > 0) {
            --keep;
            return false;
        }
        ++counts_.lost;
        return true;
    });
}

bool LoopbackNetwork::happens(double chance) {
    if (chance <= 0) return false;
    return static_cast<double>(random_() >> 11) * 0x1p-53 < chance;
}

Duration LoopbackNetwork::some_delay() {
    if (faults_.most_delay.count() <= 0) return Duration{0};
    return Duration(
        static_cast<Duration::rep>(random_() % static_cast<std::uint64_t>(faults_.most_delay.count())));
}

namespace {

constexpr PeerId the_other{0};

// Frames in flight to one end.
class Line {
  public:
    int descriptor() const { return wake_.descriptor(); }

    void deliver(Arrival arrival) {
        const std::lock_guard lock(mutex_);
        if (closed_) return;
        waiting_.push_back(std::move(arrival));
        wake();
    }
    // Nothing follows it.
    void end(const std::string& why) {
        const std::lock_guard lock(mutex_);
        if (closed_) return;
        closed_ = true;
        waiting_.push_back(Left{the_other, why});
        wake();
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        waiting_.clear();
    }
    bool take(std::vector<Arrival>& inbox) {
        const std::lock_guard lock(mutex_);
        if (woken_ && wake_.clear()) woken_ = false;
        if (waiting_.empty()) return false;
        inbox.insert(inbox.end(), std::make_move_iterator(waiting_.begin()),
                     std::make_move_iterator(waiting_.end()));
        waiting_.clear();
        return true;
    }

  private:
    // One system call for all frames until the next read.
    void wake() {
        if (!woken_) woken_ = wake_.set();
    }

    std::mutex mutex_;
    std::vector<Arrival> waiting_;
    Wake wake_;
    bool woken_ = false;
    bool closed_ = false;
};

using Lines = std::array<Line, 2>;

class PairEnd : public Transport {
  public:
    PairEnd(std::shared_ptr<Lines> lines, std::size_t self) : lines_(std::move(lines)), self_(self) {}
    ~PairEnd() override {
        mine().close();
        other().end("its end of the line was closed");
    }

    void send(PeerId, std::string frame) override { other().deliver(Frame{the_other, std::move(frame)}); }
    bool poll(std::vector<Arrival>& inbox) override { return mine().take(inbox); }
    void close(PeerId) override {
        mine().close();
        other().end("the other end closed the line");
    }
    bool idle() const override { return true; }
    std::vector<int> descriptors() const override { return {mine().descriptor()}; }

  private:
    Line& mine() const { return (*lines_)[self_]; }
    Line& other() const { return (*lines_)[1 - self_]; }
    std::shared_ptr<Lines> lines_;
    std::size_t self_;
};

}  // namespace

Result<TransportPair> open_transport_pair(std::string name_of_first, std::string name_of_second) {
    auto lines = std::make_shared<Lines>();
    for (const Line& line : *lines)
        if (line.descriptor() < 0)
            return Error{ExitCode::unreachable, std::string("no descriptor for a line within the process: ") +
                                                    std::strerror(errno) + "; raise ulimit -n"};
    (*lines)[0].deliver(Joined{the_other, std::move(name_of_second)});
    (*lines)[1].deliver(Joined{the_other, std::move(name_of_first)});
    return TransportPair{std::make_unique<PairEnd>(lines, 0), std::make_unique<PairEnd>(lines, 1)};
}

}  // namespace wq::net::frames

#include "net/frames/frame_budget.h"

namespace wq::net::frames {

bool FrameBudget::begun(LinkId link, std::size_t memory, std::size_t received) {
    Half& half = halves_[link];
    total_ += memory - half.memory;
    if (half.slow) slow_ += memory - half.memory;
    half.memory = memory;
    half.received = received;
    if (going_ == link || !spent() || memory <= small) return true;
    if (half.slow && received - half.counted < small) return true;
    if (going_) {
        set_slow(half, false);  // it is not read from here on
        waiting_.push_back(link);
        return false;
    }
    let_go_on(link);
    return true;
}

void FrameBudget::let_go_on(LinkId link) {
    going_ = link;
    Half& half = halves_.at(link);
    set_slow(half, false);
    half.counted = half.received;
    looked_at_.reset();  // it gets a full turn
}

void FrameBudget::set_slow(Half& half, bool slow) {
    if (half.slow == slow) return;
    half.slow = slow;
    slow_ += slow ? half.memory : -half.memory;
}

void FrameBudget::ended(LinkId link) {
    if (going_ == link) going_.reset();
    const auto found = halves_.find(link);
    if (found == halves_.end()) return;
    set_slow(found->second, false);
    total_ -= found->second.memory;
    halves_.erase(found);
    std::erase(waiting_, link);
}

std::optional<FrameBudget::LinkId> FrameBudget::next_released() {
    if (waiting_.empty() || (spent() && going_)) return std::nullopt;
    const LinkId released = waiting_.front();
    waiting_.pop_front();
    if (spent()) let_go_on(released);
    return released;
}

std::optional<FrameBudget::LinkId> FrameBudget::find_slow(Instant now) {
    if (looked_at_ && now - *looked_at_ < turn) return std::nullopt;
    const bool judges = looked_at_.has_value();
    looked_at_ = now;
    if (going_ && judges && !waiting_.empty()) {
        Half& half = halves_.at(*going_);
        if (half.received - half.counted < small) {
            set_slow(half, true);
            going_.reset();
        }
    }
    for (auto& [link, half] : halves_) half.counted = half.received;
    return slow_ > most_ ? largest_slow() : std::nullopt;
}

std::optional<FrameBudget::LinkId> FrameBudget::largest_slow() const {
    std::optional<LinkId> largest;
    for (const auto& [link, half] : halves_)
        if (half.slow && (!largest || half.memory > halves_.at(*largest).memory)) largest = link;
    return largest;
}

}  // namespace wq::net::frames

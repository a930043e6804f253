#include "transport/frame_budget.h"

#include <algorithm>

namespace wq::transport {

bool FrameBudget::begun(LinkId link, std::size_t memory, std::size_t received) {
    std::size_t& known = memory_[link];
    total_ += memory - known;
    known = memory;
    if (going_ == link) {
        going_received_ = received;
        return true;
    }
    if (!spent() || memory <= small) return true;
    if (going_) {
        waiting_.push_back(link);
        return false;
    }
    going_ = link;
    going_received_ = received;
    watched_since_.reset();
    return true;
}

void FrameBudget::ended(LinkId link) {
    if (going_ == link) going_.reset();
    const auto found = memory_.find(link);
    if (found == memory_.end()) return;
    total_ -= found->second;
    memory_.erase(found);
    std::erase(waiting_, link);
}

std::vector<FrameBudget::LinkId> FrameBudget::take_released() {
    std::vector<LinkId> released;
    while (!waiting_.empty() && (!spent() || !going_)) {
        released.push_back(waiting_.front());
        waiting_.pop_front();
        if (!spent()) continue;
        going_ = released.back();
        going_received_ = 0;
        watched_since_.reset();
    }
    return released;
}

std::optional<FrameBudget::LinkId> FrameBudget::too_slow(Duration patience, Instant now) {
    if (!going_ || waiting_.empty()) {
        watched_since_.reset();
        return std::nullopt;
    }
    if (watched_since_ && now - *watched_since_ < patience) return std::nullopt;
    const bool slow = watched_since_ && going_received_ < watched_from_ + small;
    watched_since_ = now;
    watched_from_ = going_received_;
    return slow ? going_ : std::nullopt;
}

}  // namespace wq::transport

#include "slices/claims/holdings.h"

namespace wq::slices::claims {

std::uint64_t Holdings::take() {
    ++taken_;
    const std::uint64_t position = claimed_.first++;
    if (!commits_) return position;
    if (newest_) has_.insert(*newest_);
    newest_ = position;
    if (clock_) taken_at_[position] = clock_();
    return position;
}

bool Holdings::drop(std::uint64_t position) {
    if (newest_ == position) {
        newest_.reset();
        return true;
    }
    const bool there = has_.contains(position);
    if (there) has_.erase(position);
    return there;
}

bool Holdings::commit(std::uint64_t position, bool failed) {
    if (!drop(position)) return false;
    untold_.insert(position);
    if (failed) untold_failed_.insert(position);
    if (!clock_) return true;
    untold_times_.push_back({position, taken_at_[position], clock_(), failed});
    taken_at_.erase(position);
    return true;
}

void Holdings::give_back(const std::vector<std::uint64_t>& positions) {
    for (const std::uint64_t position : positions) {
        if (commits_ && !drop(position)) continue;
        kept_.insert(position);
        --taken_;
    }
    if (has_claimed()) kept_.insert(std::exchange(claimed_, {}));
}

void Holdings::leave_untaken() {
    if (!commits_) return;  // they are not given again
    kept_ = {};
    claimed_ = {};
}

IntervalSet Holdings::present() const {
    IntervalSet all = has_;
    if (newest_) all.insert(*newest_);
    if (has_claimed()) all.insert(claimed_);
    for (const IntervalSet* more : {&kept_, &untold_})
        more->for_each([&](const Interval& range) { all.insert(range); });
    return all;
}

Committed Holdings::tell() {
    told_taken_ = taken_;
    return {taken_, std::exchange(untold_, {}), std::exchange(untold_failed_, {}),
            std::exchange(untold_times_, {})};
}

}  // namespace wq::slices::claims

// What a taker has: claimed, taken, committed and not told. It commits what it has taken; what it has only
// claimed it may leave to others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "slices/claims/messages.h"

namespace wq::slices::claims {

class Holdings {
  public:
    // `commits`: no: what is taken counts as done. `clock`: in us since 1970; empty: no times are told.
    Holdings(bool commits, std::function<std::int64_t()> clock)
        : commits_(commits), clock_(std::move(clock)) {}

    bool commits() const { return commits_; }
    void claim(Interval positions) { claimed_ = positions; }    // if nothing is claimed
    void keep(Interval positions) { kept_.insert(positions); }  // not among the tickets of the node
    bool claim_kept(std::uint64_t most) {                       // false: nothing is kept
        const auto kept = kept_.take_front(most);
        if (kept) claimed_ = *kept;
        return kept.has_value();
    }
    bool has_claimed() const { return claimed_.size() > 0; }
    std::uint64_t take();  // of what is claimed
    // Whether it was taken here, and not committed before.
    bool commit(std::uint64_t position, bool failed);
    // They were taken, and are for the next that takes; so is what is claimed.
    void give_back(const std::vector<std::uint64_t>& positions);
    // Others may have what is not taken: perhaps the consumer takes no more.
    void leave_untaken();
    // All that it has, also commits that it has not told.
    IntervalSet present() const;

    bool has_news() const { return !untold_.empty() || taken_ != told_taken_; }
    Committed tell();
    std::uint64_t taken() const { return taken_; }  // so many

  private:
    bool drop(std::uint64_t position);  // of what is taken; false: it is not

    bool commits_;
    std::function<std::int64_t()> clock_;
    Interval claimed_;                     // not taken yet
    std::optional<std::uint64_t> newest_;  // taken last, not committed; most are, before the next is taken
    IntervalSet has_;                      // taken before it, not committed
    IntervalSet kept_;                     // neither taken nor among the tickets of the node
    IntervalSet untold_;                   // committed
    IntervalSet untold_failed_;
    std::vector<Timed> untold_times_;
    std::map<std::uint64_t, std::int64_t> taken_at_;  // of what is not committed
    std::uint64_t taken_ = 0;
    std::uint64_t told_taken_ = 0;
};

}  // namespace wq::slices::claims

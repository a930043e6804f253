// Ids of a queue's tasks, which a program may start higher, next to those of its manager, which start at 1.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <map>
#include <optional>

namespace wq::capi {

class Numbering {
  public:
    // That of the next task; 0: there are no more.
    int next() const { return next_; }
    std::int64_t count() const { return taken_; }
    void take() { next_ = next_ == INT_MAX ? 0 : next_ + 1, ++taken_; }
    // The next one is at least this.
    void at_least(int id) {
        if (next_ == 0 || id <= next_) return;
        next_ = id;
        shifts_[id] = id - taken_ - 1;
    }
    // The id of the manager's; nothing: no task has had this one.
    std::optional<std::int64_t> of_manager(int id) const {
        const auto after = shifts_.upper_bound(id);
        if (id < 1 || (next_ != 0 && id >= next_) || after == shifts_.begin()) return std::nullopt;
        const std::int64_t found = id - std::prev(after)->second;
        // An id that was left out is none: the next run of ids begins with what it would be.
        if (after != shifts_.end() && found > after->first - after->second - 1) return std::nullopt;
        return found;
    }

  private:
    int next_ = 1;
    std::int64_t taken_ = 0;
    std::map<int, std::int64_t> shifts_{{1, 0}};  // from this id on: what it is more than the manager's
};

}  // namespace wq::capi

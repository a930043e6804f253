// Maps ids of a queue's tasks, which a program may start higher, to ids of its manager, which start at 1.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <map>
#include <optional>

namespace wq::api {

class Numbering {
  public:
    // The next task's id; 0: no ids are left.
    int next() const { return next_; }
    std::int64_t count() const { return taken_; }
    void take() { next_ = next_ == INT_MAX ? 0 : next_ + 1, ++taken_; }
    // The next id is at least this.
    void at_least(int id) {
        if (next_ == 0 || id <= next_) return;
        next_ = id;
        shifts_[id] = id - taken_ - 1;
    }
    // The manager's id; nothing: no task has had this id.
    std::optional<std::int64_t> of_manager(int id) const {
        const auto after = shifts_.upper_bound(id);
        if (id < 1 || (next_ != 0 && id >= next_) || after == shifts_.begin()) return std::nullopt;
        const std::int64_t found = id - std::prev(after)->second;
        // Skipped ids belong to no task; the next range of ids begins where they would map.
        if (after != shifts_.end() && found > after->first - after->second - 1) return std::nullopt;
        return found;
    }

  private:
    int next_ = 1;
    std::int64_t taken_ = 0;
    std::map<int, std::int64_t> shifts_{{1, 0}};  // from this id on: its difference from the manager's id
};

}  // namespace wq::api

#include "core/seats.h"

#include <algorithm>
#include <functional>

namespace wq::core {

namespace {

constexpr std::int64_t one_whole = 1000;

}  // namespace

std::int64_t how_many_seats(Count each, Count whole) {
    const std::int64_t by_sum = whole.thousandths() / each.thousandths();
    const std::int64_t wholes = each.rounded_down();
    const std::int64_t part = each.thousandths() % one_whole;
    if (part == 0) return by_sum;
    // So many share one, with which they need so many.
    const std::int64_t sharers = one_whole / part;
    const std::int64_t for_sharers = sharers * wholes + 1;
    const std::int64_t all = whole.rounded_up();
    const std::int64_t left = all % for_sharers;
    const std::int64_t others = wholes == 0 || left == 0 ? 0 : (left - 1) / wholes;
    return std::min(by_sum, all / for_sharers * sharers + others);
}

void Seats::add(Count each) {
    wholes_ += each.rounded_down();
    if (!each.is_whole()) ++parts_[each.thousandths() % one_whole];
}

void Seats::remove(Count each) {
    wholes_ -= each.rounded_down();
    if (each.is_whole()) return;
    const auto found = parts_.find(each.thousandths() % one_whole);
    if (--found->second == 0) parts_.erase(found);
}

bool Seats::have_room(Count each, Count whole) const {
    if (parts_.empty() && each.is_whole()) return true;
    const std::int64_t part = each.thousandths() % one_whole;
    return wholes_ + each.rounded_down() + shared(part) <= whole.rounded_up();
}

Count Seats::untouched(Count whole) const {
    return std::max<std::int64_t>(whole.rounded_down() - wholes_ - shared(), 0);
}

// How many are shared: the largest parts first, each where least is left. Equal ones are placed together, as
// there may be hundreds.
std::int64_t Seats::shared(std::int64_t one_more) const {
    std::map<std::int64_t, std::int64_t, std::greater<>> parts(parts_.begin(), parts_.end());
    if (one_more > 0) ++parts[one_more];
    std::int64_t begun = 0;
    std::map<std::int64_t, std::int64_t> left;  // by thousandths that are left of it: how many
    const auto place = [&](std::int64_t of, std::int64_t part, std::int64_t how_many) {
        const std::int64_t each = of / part;
        if (how_many / each > 0) left[of - each * part] += how_many / each;
        if (how_many % each > 0) ++left[of - how_many % each * part];
    };
    for (auto [part, waiting] : parts) {
        for (auto room = left.lower_bound(part); waiting > 0 && room != left.end();) {
            const auto [of, those] = *room;
            const std::int64_t here = std::min(waiting, of / part * those);
            const std::int64_t used = (here + of / part - 1) / (of / part);
            if ((room->second -= used) == 0) left.erase(room);
            place(of, part, here);
            waiting -= here;
            room = left.lower_bound(part);
        }
        if (waiting == 0) continue;
        const std::int64_t each = one_whole / part;
        begun += (waiting + each - 1) / each;
        place(one_whole, part, waiting);
    }
    return begun;
}

}  // namespace wq::core

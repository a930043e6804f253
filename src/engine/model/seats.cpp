#include "engine/model/seats.h"

#include <algorithm>

namespace wq::engine::model {

namespace {

constexpr std::int64_t one_whole = 1000;

}  // namespace

std::int64_t how_many_seats(Count each, Count whole) {
    const std::int64_t by_sum = whole.thousandths() / each.thousandths();
    const std::int64_t wholes = each.rounded_down();
    const std::int64_t part = each.thousandths() % one_whole;
    if (part == 0) return by_sum;
    // How many tasks share one core, and how many shared cores are needed.
    const std::int64_t sharers = one_whole / part;
    const std::int64_t for_sharers = sharers * wholes + 1;
    const std::int64_t all = whole.rounded_up();
    const std::int64_t left = all % for_sharers;
    const std::int64_t others = wholes == 0 || left == 0 ? 0 : (left - 1) / wholes;
    return std::min(by_sum, all / for_sharers * sharers + others);
}

void Seats::add(TaskId task, Count each) {
    wholes_ += each.rounded_down();
    const std::int64_t part = each.thousandths() % one_whole;
    if (part == 0) return;
    const auto fullest = fullest_with(part);
    const std::uint64_t seat = fullest == shared_.end() ? next_++ : fullest->first;
    shared_.try_emplace(seat, one_whole).first->second -= part;
    seat_of_[task] = seat;
}

void Seats::remove(TaskId task, Count each) {
    wholes_ -= each.rounded_down();
    if (each.is_whole()) return;
    const auto found = seat_of_.find(task);
    const auto seat = shared_.find(found->second);
    seat->second += each.thousandths() % one_whole;
    if (seat->second == one_whole) shared_.erase(seat);
    seat_of_.erase(found);
}

bool Seats::have_room(Count each, Count whole) const {
    const std::int64_t part = each.thousandths() % one_whole;
    if (each <= 0 || (part == 0 && !any_parts())) return true;
    const bool begins_one = part > 0 && fullest_with(part) == shared_.end();
    return begun() + each.rounded_down() + (begins_one ? 1 : 0) <= whole.rounded_up();
}

Count Seats::untouched(Count whole) const {
    return std::max<std::int64_t>(whole.rounded_down() - begun(), 0);
}

Seats::Shared::const_iterator Seats::fullest_with(std::int64_t part) const {
    auto fullest = shared_.end();
    for (auto seat = shared_.begin(); seat != shared_.end(); ++seat)
        if (seat->second >= part && (fullest == shared_.end() || seat->second < fullest->second))
            fullest = seat;
    return fullest;
}

}  // namespace wq::engine::model

#include "engine/model/allocation.h"

#include <algorithm>
#include <limits>

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

namespace {

__extension__ using Product = __int128;  // a product of two amounts

// The share of a worker that a task gets: num / den, at most 1.
struct Share {
    std::int64_t num = 1;
    std::int64_t den = 1;
    std::int64_t of(std::int64_t whole) const {
        return static_cast<std::int64_t>(Product{whole} * num / den);
    }
};

bool is_less(const Share& a, const Share& b) {
    return Product{a.num} * b.den < Product{b.num} * a.den;
}

// The largest share of the worker that the task asks for of any resource; none if it asks for nothing.
class Proportion {
  public:
    void consider(std::int64_t need, std::int64_t whole) {
        if (need <= 0) return;
        asks_ = true;
        if (need >= whole)
            largest_ = {1, 1};
        else if (is_less(largest_, {need, whole}))
            largest_ = {need, whole};
    }
    void consider(const Needs& needs, const Resources& whole) {
        consider(needs.cores, whole.cores);
        consider(needs.memory_mb, whole.memory_mb);
        consider(needs.disk_mb, whole.disk_mb);
        consider(needs.gpus, whole.gpus);
    }
    void consider(Count need, Count whole) {
        consider(need.thousandths(), whole.thousandths());
        if (need > 0 && need < whole) seats_ = std::min(seats_, how_many_seats(need, whole));
    }
    bool asks() const { return asks_; }
    Share exact() const { return largest_; }
    // One n-th of the worker, if n such tasks fit.
    Share whole_task() const {
        return {1, largest_.num == 0 ? 1 : std::min(largest_.den / largest_.num, seats_)};
    }

  private:
    Share largest_{0, 1};
    std::int64_t seats_ = std::numeric_limits<std::int64_t>::max();  // of cores and GPUs
    bool asks_ = false;
};

Proportion proportion(const Needs& needs, const Resources& whole) {
    Proportion result;
    result.consider(needs, whole);
    return result;
}

// One core if only memory or disk is requested.
Resources as_said(const Needs& needs) {
    if (needs.remote()) return {0, 0, 0, 0, needs.coprocesses};
    Resources share{needs.cores, std::max<std::int64_t>(needs.memory_mb, 0),
                    std::max<std::int64_t>(needs.disk_mb, 0), std::max<Count>(needs.gpus, 0)};
    if (needs.cores < 0) share.cores = share.gpus > 0 ? 0 : 1;
    return share;
}

// With the worker's amounts where the task asks for the whole worker.
Needs in_amounts(Needs needs, const Resources& whole) {
    const auto fill = [](auto& amount, const auto& all) {
        if (amount == whole_worker) amount = all;
    };
    fill(needs.cores, whole.cores);
    fill(needs.memory_mb, whole.memory_mb);
    fill(needs.disk_mb, whole.disk_mb);
    fill(needs.gpus, whole.gpus);
    return needs;
}

void raise_to(Resources& give, const Needs& least) {
    give.cores = std::max(give.cores, least.cores);
    give.memory_mb = std::max(give.memory_mb, least.memory_mb);
    give.disk_mb = std::max(give.disk_mb, least.disk_mb);
    give.gpus = std::max(give.gpus, least.gpus);
}

// Adds what the rules give a task besides what it asks for.
void add_rest(Resources& give, const Needs& needs, const Resources& whole, const Proportion& asked,
              const AllocationRules& rules) {
    if (!asked.asks() || rules.rest == Rest::whole) {
        if (needs.cores < 0 && give.gpus == 0) give.cores = whole.cores;
        if (give.memory_mb == 0) give.memory_mb = whole.memory_mb;
        if (give.disk_mb == 0) give.disk_mb = whole.disk_mb;
        return;
    }
    if (rules.rest == Rest::with_cores) {
        const Count cores = std::min(give.cores, whole.cores);
        if (give.memory_mb == 0 && cores > 0)
            give.memory_mb = Share{cores.thousandths(), whole.cores.thousandths()}.of(whole.memory_mb);
        return;
    }
    const Share share = rules.whole_tasks ? asked.whole_task() : asked.exact();
    if (give.cores > 0) give.cores = std::max(give.cores, Count(share.of(whole.cores.thousandths()) / 1000));
    give.memory_mb = std::max(give.memory_mb, share.of(whole.memory_mb));
    give.disk_mb = std::max(give.disk_mb, share.of(whole.disk_mb));
}

Resources due(const Ask& ask, const Resources& whole, const AllocationRules& rules) {
    const Needs needs = in_amounts(ask.needs, whole);
    Resources give = as_said(needs);
    if (needs.remote()) return give;
    const Proportion asked = proportion(needs, whole);
    if (!needs.weightless()) add_rest(give, needs, whole, asked, rules);
    raise_to(give, ask.at_least);
    return give;
}

}  // namespace

Resources lowered_to(Resources give, const Needs& most) {
    const auto lower = [](auto& amount, const auto& bound) {
        if (bound >= 0) amount = std::min(amount, bound);
    };
    lower(give.cores, most.cores);
    lower(give.memory_mb, most.memory_mb);
    lower(give.disk_mb, most.disk_mb);
    lower(give.gpus, most.gpus);
    return give;
}

Resources allocate(const Ask& ask, const Resources& whole, const AllocationRules& rules) {
    return lowered_to(due(ask, whole, rules), ask.at_most);
}

Resources allocate(const Needs& needs, const Resources& whole, const AllocationRules& rules) {
    return allocate(Ask(needs), whole, rules);
}

bool ever_fits(const Ask& ask, const Resources& whole) {
    const Needs needs = in_amounts(ask.needs, whole);
    Resources least{};
    raise_to(least, ask.at_least);
    if (!least.fits_in(whole)) return false;
    return as_said(needs).fits_in(whole) || !(needs.weightless() || proportion(needs, whole).asks());
}

bool ever_fits(const Needs& needs, const Resources& whole) {
    return ever_fits(Ask(needs), whole);
}

bool Ask::plain() const {
    constexpr auto said = [](const auto& amount) { return amount != whole_worker; };
    return at_least == Needs{} && said(needs.cores) && said(needs.memory_mb) && said(needs.disk_mb) &&
           said(needs.gpus);
}

std::string describe(const Ask& ask) {
    if (ask.plain()) return describe(ask.needs);
    Needs amounts = ask.needs;
    const auto raise = [](auto& amount, const auto& least) { amount = std::max(amount, least); };
    raise(amounts.cores, ask.at_least.cores);
    raise(amounts.memory_mb, ask.at_least.memory_mb);
    raise(amounts.disk_mb, ask.at_least.disk_mb);
    raise(amounts.gpus, ask.at_least.gpus);
    return describe(amounts);
}

}  // namespace wq::engine::model

#include "views/model/holders.h"

#include <algorithm>
#include <utility>

namespace wq::views::model {

Amounts& Amounts::operator+=(const Amounts& other) {
    memory_mb += other.memory_mb, memory_peak_mb += other.memory_peak_mb, disk_mb += other.disk_mb;
    gpus += other.gpus, coprocesses += other.coprocesses;
    return *this;
}

Amounts& Amounts::operator-=(const Amounts& other) {
    memory_mb -= other.memory_mb, memory_peak_mb -= other.memory_peak_mb, disk_mb -= other.disk_mb;
    gpus -= other.gpus, coprocesses -= other.coprocesses;
    return *this;
}

namespace {

bool is_before(const Holder* a, const Holder* b) {
    return std::pair(a->times.begin.front(), a->attempt) < std::pair(b->times.begin.front(), b->attempt);
}

}  // namespace

void WorkerHolders::insert(std::vector<Holder*>& all, Holder& holder) {
    const auto at = std::upper_bound(all.begin(), all.end(), &holder, is_before);
    if (&all == &pending_ && static_cast<std::size_t>(at - all.begin()) < granted_) granted_ += 1;
    all.insert(at, &holder);
}

void WorkerHolders::remove(std::vector<Holder*>& all, Holder& holder) {
    const auto at = std::lower_bound(all.begin(), all.end(), &holder, is_before);
    if (&all == &pending_ && static_cast<std::size_t>(at - all.begin()) < granted_) granted_ -= 1;
    all.erase(at);
}

void WorkerHolders::count(Holder& holder, bool is_counted) {
    if (holder.is_counted == is_counted) return;
    holder.is_counted = is_counted;
    if (is_counted)
        amounts_ += holder.amounts;
    else
        amounts_ -= holder.amounts;
}

void WorkerHolders::set_rate(Holder& holder, std::int64_t rate, WallMicros now, HeldSink& sink) {
    if (holder.rate == rate) return;
    if (holder.rate > 0 && now > holder.since)
        sink.add_held(holder, CoreTime{holder.rate} * (now - holder.since));
    held_ += rate - holder.rate;
    holder.rate = rate;
    holder.since = now;
}

void WorkerHolders::enter(Holder& holder, Phase phase, WallMicros now, HeldSink& sink) {
    const auto is_pending = [](Phase one) { return one != Phase::runs && one != Phase::over; };
    const Phase before = std::exchange(holder.phase, phase);
    if (holder.rate > 0 && before != phase) {  // what it held belongs to the phase before
        holder.phase = before;
        const std::int64_t rate = holder.rate;
        set_rate(holder, 0, now, sink);
        holder.phase = phase;
        if (is_pending(before) && is_pending(phase)) set_rate(holder, rate, now, sink);
    }
    if (holder.cores <= 0) {
        count(holder, phase != Phase::over);
        return;
    }
    if (before == Phase::runs && phase != Phase::runs) remove(running_, holder), wanted_ -= holder.cores;
    if (phase == Phase::runs && before != Phase::runs) insert(running_, holder), wanted_ += holder.cores;
    if (is_pending(before) && !is_pending(phase)) remove(pending_, holder);
    if (is_pending(phase) && !is_pending(before)) insert(pending_, holder);
    count(holder, phase == Phase::runs);  // share() counts pending ones
    if (phase == Phase::runs && !was_short_) set_rate(holder, holder.cores, now, sink);
}

void WorkerHolders::share(std::int64_t cores, WallMicros now, HeldSink& sink) {
    const bool is_short = wanted_ > cores;
    if (is_short || was_short_) {
        // Cut at sums, so that the shares sum to all cores.
        CoreTime before = 0;
        for (Holder* holder : running_) {
            const CoreTime until = before + holder->cores;
            const auto whole = [&](CoreTime sum) {
                return static_cast<std::int64_t>(is_short ? sum * cores / wanted_ : sum);
            };
            set_rate(*holder, whole(until) - whole(before), now, sink);
            before = until;
        }
    }
    was_short_ = is_short;
    std::int64_t left = is_short ? 0 : cores - wanted_;
    std::size_t place = 0;
    for (; place < pending_.size() && (left > 0 || place < granted_); ++place) {
        Holder& holder = *pending_[place];
        const std::int64_t rate = std::min(left, holder.cores);
        set_rate(holder, rate, now, sink);
        count(holder, rate > 0);
        left -= rate;
    }
    granted_ = 0;
    while (granted_ < place && pending_[granted_]->rate > 0) granted_ += 1;
}

}  // namespace wq::views::model

#include "views/attempts.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

namespace wq::views {

namespace {

// Clocks of hosts differ, and a log may lack a time: each time is at least the one before it.
void bring_into_order(Attempt& attempt) {
    attempt.started = std::max(attempt.started, attempt.input);
    attempt.output = std::max(attempt.output, attempt.started);
    attempt.ended = std::max(attempt.ended, attempt.output);
    attempt.waiting = std::min(attempt.waiting, attempt.input);
}

// The places of `workers` in the order of their joining.
std::vector<std::uint32_t> sort_workers(std::vector<WorkerStay>& workers) {
    std::vector<std::uint32_t> order(workers.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return workers[a].joined < workers[b].joined; });
    std::vector<WorkerStay> sorted;
    std::vector<std::uint32_t> place_of(workers.size());
    for (const std::uint32_t from : order) {
        place_of[from] = static_cast<std::uint32_t>(sorted.size());
        sorted.push_back(std::move(workers[from]));
    }
    workers = std::move(sorted);
    return place_of;
}

// The lowest slot that is free when an attempt begins. Logs round times, so the last one may end a little
// later.
class Slots {
  public:
    std::uint32_t take(WallMicros begin, WallMicros end) {
        const WallMicros rounded = std::min<WallMicros>((end - begin) / 4, 10'000);
        while (!busy_.empty() && busy_.top().first <= begin + rounded) {
            free_.insert(busy_.top().second);
            busy_.pop();
        }
        if (free_.empty()) free_.insert(count_++);
        const std::uint32_t slot = *free_.begin();
        free_.erase(free_.begin());
        busy_.emplace(end, slot);
        return slot;
    }
    std::uint32_t count() const { return count_; }

  private:
    using Busy = std::pair<WallMicros, std::uint32_t>;
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
    std::set<std::uint32_t> free_;
    std::uint32_t count_ = 0;
};

}  // namespace

void place_input(Attempt& attempt, WallMicros begin, WallMicros end) {
    attempt.input = begin == 0 ? attempt.started : std::max(begin, attempt.started - (end - begin));
}

void finish(Attempts& all) {
    for (Attempt& attempt : all.attempts) bring_into_order(attempt);
    const std::vector<std::uint32_t> place_of = sort_workers(all.workers);
    for (Attempt& attempt : all.attempts) attempt.worker = place_of[attempt.worker];
    std::sort(all.attempts.begin(), all.attempts.end(), [](const Attempt& a, const Attempt& b) {
        return std::pair(a.input, a.task) < std::pair(b.input, b.task);
    });
    bool first = true;
    const auto include = [&](WallMicros from, WallMicros to) {
        all.begin = first ? from : std::min(all.begin, from);
        all.end = first ? to : std::max(all.end, to);
        first = false;
    };
    for (const WorkerStay& worker : all.workers) include(worker.joined, std::max(worker.left, worker.joined));
    for (const Attempt& attempt : all.attempts) include(attempt.waiting, attempt.ended);
    for (WorkerStay& worker : all.workers)
        worker.left = std::max(worker.left == 0 ? all.end : worker.left, worker.joined);
    std::vector<Slots> slots(all.workers.size());
    for (Attempt& attempt : all.attempts) {
        WorkerStay& worker = all.workers[attempt.worker];
        attempt.slot = slots[attempt.worker].take(attempt.input, attempt.ended);
        worker.slots = slots[attempt.worker].count();
        // A log may lack when it joined, and its last results may come after its end.
        worker.joined = std::min(worker.joined, attempt.input);
        worker.left = std::max(worker.left, attempt.ended);
    }
}

}  // namespace wq::views

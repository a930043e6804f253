#include "worker/signalled_ends.h"

#include <algorithm>
#include <csignal>

#include "base/signals.h"

namespace wq::worker {

namespace {

// The signal that ended the task; 0: none. A shell reports its command's signal as 128 plus the number.
int signal_of(const engine::model::Outcome& outcome) {
    if (outcome.ending == engine::model::Ending::signalled) return outcome.signal;
    if (outcome.ending == engine::model::Ending::exited && outcome.exit_code > 128)
        return outcome.exit_code - 128;
    return 0;
}

}  // namespace

void SignalledEnds::note_stop(int signal) {
    stop_signals_.insert(signal);
    explained_ = true;
}

bool SignalledEnds::explained(const engine::model::Outcome& outcome) const {
    return stop_signals_.contains(signal_of(outcome));
}

void SignalledEnds::add(node::launcher::TaskEnded end, Instant now) {
    const bool may_be_ours = Signals::stops(signal_of(end.outcome));
    if (may_be_ours && !explained_)
        waiting_.emplace_back(now + wait_limit, std::move(end));
    else
        certain_.push_back(std::move(end));
}

std::optional<node::launcher::TaskEnded> SignalledEnds::take(Instant now) {
    while (!waiting_.empty() && (explained_ || waiting_.front().first <= now)) {
        certain_.push_back(std::move(waiting_.front().second));
        waiting_.pop_front();
    }
    if (certain_.empty()) return std::nullopt;
    node::launcher::TaskEnded end = std::move(certain_.front());
    certain_.pop_front();
    if (explained(end.outcome)) end.outcome.ending = engine::model::Ending::killed;
    return end;
}

std::optional<Instant> SignalledEnds::wakeup() const {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.front().first;
}

}  // namespace wq::worker

#include "core/reactor.h"

#include <algorithm>

namespace wq::core {

namespace {
// A silent worker is given up after several looks, each of which stands for this part of the limit at most.
constexpr int looks_at_silence = 4;
}  // namespace

Reactor::Reactor(ReactorOptions options, Now started)
    : options_(options),
      last_event_(started.instant),
      attentive_(started.instant),
      settled_at_(started.instant + options.join_limit),
      pool_settled_at_(settled_at_) {
    counters_.time_when_started = started.wall;
    hold_until_workers_ = options.hold_until_workers;
    if (options.expected_workers == 0) settled_at_ = pool_settled_at_ = started.instant;
}

void Reactor::on(const Event& event, Now now, std::vector<Action>& actions) {
    if (finished_) return;
    now.instant = std::max(now.instant, last_event_);
    attentive_ += std::min(now.instant - last_event_, options_.silence / looks_at_silence);
    last_event_ = now.instant;
    last_wall_ = now.wall;
    ledger_.advance(now.wall);
    std::visit([&](const auto& known) { on_event(known, now, actions); }, event);
    ask_anew_of_automatic(actions);
    awaken_those_with_room();
    expire(now, actions);
    release_the_last_hosts(actions);
    dispatch(now, actions);
    note_full();
    tell_what_waits(now, actions);
    watch_idle_workers(now);
    finish_if_over(now, actions);
}

std::optional<Instant> Reactor::wakeup() const {
    if (finished_) return std::nullopt;
    std::optional<Instant> next;
    const auto consider = [&](Instant at) { next = next ? std::min(*next, at) : at; };
    if (const Worker* worker = workers_.quietest()) {
        const Duration left = worker->last_heard + options_.silence - attentive_;
        consider(last_event_ + std::min(left, options_.silence / looks_at_silence));
    }
    if (const Worker* worker = workers_.first_given_up()) {
        const Duration left = *worker->away_until - attentive_;
        consider(last_event_ + std::min(left, options_.silence / looks_at_silence));
    }
    if (stop_) consider(stop_->killed ? stop_->kill_at + options_.kill_limit : stop_->kill_at);
    for (const Instant at : {settled_at_, pool_settled_at_})
        if (last_event_ < at) consider(at);
    if (const auto at = ledger_.next_time(); at && !stop_) consider(when(*at));
    if (const auto at = blocks_.next_end()) consider(*at);
    if (const auto at = next_copy()) consider(*at);
    if (const auto at = next_slow()) consider(*at);
    if (idle_since_) consider(*idle_since_ + recall_pause_);
    if (tell_waits_at_ && !stop_ && !workers_.empty()) consider(*tell_waits_at_);
    return next;
}

Reactor::ShapeState& Reactor::state_of(ShapeId shape) {
    if (shape.value() >= shape_states_.size()) shape_states_.resize(shape.value() + 1);
    return shape_states_[shape.value()];
}

}  // namespace wq::core

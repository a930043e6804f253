#include "manager/status/announcing.h"

namespace wq::manager::status {

namespace {

constexpr Duration announced_every = std::chrono::seconds(30);
constexpr Duration announced_at_most_every = std::chrono::seconds(2);

}  // namespace

std::optional<Instant> Announcing::announce_if_due(const engine::model::ManagerStats& stats, Instant now) {
    if (!announce_) return std::nullopt;
    const bool has_waiting = stats.tasks_waiting > 0;
    changed_ = changed_ || stats.workers_connected != workers_ || has_waiting != has_waiting_;
    workers_ = stats.workers_connected;
    has_waiting_ = has_waiting;
    const Instant due =
        last_ == Instant{} ? now : last_ + (changed_ ? announced_at_most_every : announced_every);
    const Instant settles = last_ + announced_at_most_every;
    if (!settled_ && now >= settles) {
        announce_({});
        settled_ = true;
    }
    if (now < due) return settled_ ? due : settles;
    const bool taken = announce_([this] { return lister_.part(net::messages::StatusOf::queue, 0).records; });
    last_ = now;
    changed_ = !taken;
    settled_ = false;
    return now + announced_at_most_every;
}

}  // namespace wq::manager::status

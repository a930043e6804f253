#include "api/first_worker_notice.h"

namespace wq::api {

namespace {

constexpr Duration patience = std::chrono::seconds(10);

}  // namespace

std::optional<Instant> FirstWorkerNotice::look(const engine::model::ManagerStats& stats, Instant now,
                                               const std::function<void(const std::string&)>& say) {
    if (how_.empty()) return std::nullopt;
    if (stats.workers_connected > 0) {
        how_.clear();
        return std::nullopt;
    }
    if (stats.tasks_waiting == 0) {
        waits_since_.reset();
        return std::nullopt;
    }
    if (!waits_since_) waits_since_ = now;
    if (now < *waits_since_ + patience) return *waits_since_ + patience;
    say("tasks wait, and no worker is connected; start one: " + how_);
    how_.clear();
    return std::nullopt;
}

}  // namespace wq::api

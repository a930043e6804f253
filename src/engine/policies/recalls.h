// Recalls tasks that wait in one worker's launcher while another worker is idle. Leases are recalled one by
// one; tickets by revoking their batch, which turns them into leases.
#pragma once

#include <optional>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class Recalls : Policy {
  public:
    using Policy::Policy;

    void reported(const Worker&, TaskId, const Outcome&, Instant) { pause_ = first_pause; }
    void range_succeeded(const Worker&, ShapeId, std::uint64_t, Duration, Duration) { pause_ = first_pause; }
    void tick();
    std::optional<Instant> next_due() const;

    // Called at the end of each event.
    void watch_idle_workers();

  private:
    // How long a worker must be idle before leases are recalled.
    static constexpr Duration first_pause = std::chrono::milliseconds(50);

    bool someone_idles_while_leases_queue() const;
    bool some_have_yet_to_account() const;
    bool a_dry_rank_idles() const;
    void recall_leases(Scarce what);
    std::int64_t recall(Worker& worker, Scarce what, std::int64_t amount);

    std::optional<Instant> idle_since_;  // a worker is idle while others have queued leases
    Duration pause_ = first_pause;
};

}  // namespace wq::engine::policies

// Handles workers that join, fall silent, disconnect, reconnect, drain and leave.
#pragma once

#include <optional>
#include <string>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class Membership : Policy {
  public:
    explicit Membership(Shared& shared) : Policy(shared), pool_state_(shared.state.pool) {}

    void on(const WorkerJoined& event);
    void on(const WorkerHeard& event);
    void on(const WorkerLeft& event);
    void on(const WorkerDisconnected& event);
    void on(const WorkerReconnected& event);
    void on(const WorkerDraining& event);

    void tick();
    std::optional<Instant> next_due() const;

  private:
    void remove(Worker& worker, const std::string& why, Parting how);
    void dismiss(WorkerId id, const std::string& why);
    void remove_silent_workers();
    void remove_those_disconnected_too_long();

    PoolState& pool_state_;
};

}  // namespace wq::engine::policies

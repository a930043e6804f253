#include "engine/policies/policy.h"

namespace wq::engine::policies {

void Policy::revoke_batch() {
    std::optional<Batch>& batch = shared_.state.batch;
    if (!batch || batch->revoked) return;
    batch->revoked = true;
    for (const WorkerId member : batch->members) workers_.changed(*workers_.find(member));
    act(Revoke{batch->id});
}

void Policy::close_tickets(Interval tickets, TaskEvent how) {
    shared_.state.batch->outstanding.erase(tickets);
    ledger_.change(tickets, how);
}

}  // namespace wq::engine::policies

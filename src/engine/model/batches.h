// Batches: sealed sequences of tasks that the MPI pool claims by ticket, without a message per task.
//
// Nobody tells the core who claimed what. It learns of a claim from the outcome, or from a rank's account:
// when a rank finds nothing left to claim, it says so ("dry"), names the tasks that it still holds, and stops
// claiming from this batch. The core then treats those tasks as leased to that rank. When every remaining
// member has sent its account, all other tasks are missing: lost ranks claimed them, or nobody did. A batch
// is over when none of its tasks is outstanding.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "engine/model/allocation.h"
#include "engine/model/ledger.h"

namespace wq::engine::model {

// A member of a batch that was lost.
struct LostMember {
    WorkerId worker;
    std::string reason;
    Resources whole;
};

struct Batch {
    BatchId id;
    ShapeId shape;
    Ask ask{Needs{}};  // the ranks compute a ticket's allocation from it
    AllocationRules rules{};
    double priority = 0;
    Instant sealed_at;
    IntervalSet outstanding;     // sealed; no rank has named it yet
    std::set<WorkerId> members;  // ranks that joined before it was sealed and are not lost
    std::set<WorkerId> dry;      // the members that saw its end
    std::vector<LostMember> lost;
    bool left = false;  // a member left without an account
    bool revoked = false;
};

}  // namespace wq::engine::model

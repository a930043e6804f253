// Batches: sealed sequences of tasks that the MPI pool claims by ticket, without a message per task.
//
// Nobody tells the core who claimed what. It learns of a claim by the outcome, or by a rank's account: once a
// rank finds nothing left to claim it says so ("dry"), names what it still holds, and claims no more of this
// batch. What it holds is then leased to it like any other task. When every living member has said so,
// whatever is left is missing: it was claimed by ranks that are gone, or is given back unclaimed. A batch is
// over when nothing of it is outstanding.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "core/allocation.h"
#include "core/ledger.h"

namespace wq::core {

// A member of a batch that was lost.
struct LostMember {
    WorkerId worker;
    std::string reason;
    Resources whole;
};

struct Batch {
    BatchId id;
    ShapeId shape;
    Ask ask{Needs{}};  // by these ranks reckon what a ticket's task is given
    AllocationRules rules{};
    double priority = 0;
    Instant sealed_at;
    IntervalSet outstanding;     // sealed; no rank has named it yet
    std::set<WorkerId> members;  // ranks that were there when it was sealed and have not been lost since
    std::set<WorkerId> dry;      // of these, who saw the end of it
    std::vector<LostMember> lost;
    bool left = false;  // a member said goodbye without an account
    bool revoked = false;
};

}  // namespace wq::core

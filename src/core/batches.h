// Batches: sealed sequences of tasks that the MPI pool claims by ticket, without a message per task.
//
// Nobody tells the core who claimed what. It learns of a claim by the outcome, or by a rank's account: once a
// rank finds nothing left to claim it says so ("dry"), names what it still holds, and claims no more of this
// batch. When every living member has said so, what was sealed, less what was reported, less what living
// members hold, is missing: it was claimed by ranks that are gone, or given back unclaimed. A batch is over
// when nothing of it is outstanding.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/ids.h"
#include "base/interval_set.h"
#include "core/ledger.h"

namespace wq::core {

struct Batch {
    BatchId id;
    ShapeId shape;
    IntervalSet outstanding;     // sealed and neither reported nor given back
    std::set<WorkerId> members;  // ranks that were there when it was sealed and have not been lost since
    std::unordered_map<WorkerId, IntervalSet> accounts;  // of members that saw it dry: what they hold
    std::uint64_t lost_lanes = 0;                        // tasks that its lost ranks could have been running
    bool revoked = false;

    // What no living member holds; nothing as long as one of them has not said that it saw the end.
    std::optional<IntervalSet> missing() const {
        if (accounts.size() < members.size()) return std::nullopt;
        IntervalSet unheld = outstanding;
        for (const auto& [rank, holding] : accounts)
            holding.for_each([&](Interval held) { unheld.erase(held); });
        return unheld;
    }
};

}  // namespace wq::core

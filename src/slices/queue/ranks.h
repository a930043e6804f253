// The ranks of a job begin a queue together. Rank 0 gives the slices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/session_parts.h"
#include "slices/queue/member.h"

namespace wq::slices::queue {

// In a process alone. Throws SetupError.
std::unique_ptr<Member> open_alone(const std::vector<std::string>& works, const SliceOptions& options);
struct AmongRanks {
    std::unique_ptr<Member> member;
    bool uses_counters = false;  // so no other queue may (MpiSession::Parts::is_using_counters)
};
// Collective. Throws SetupError, on all ranks the same.
AmongRanks open_among_ranks(MpiSession::Parts& parts, const std::vector<std::string>& works,
                            const SliceOptions& options);

}  // namespace wq::slices::queue

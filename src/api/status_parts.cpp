#include "api/status_parts.h"

namespace wq::api {

program_manager::StatusParts status_parts(const Manager& manager) {
    program_manager::StatusParts parts{manager.stats(), manager.workers(), manager.blocked_hosts(), {}};
    for (const CategorySummary& one : manager.categories())
        parts.categories.emplace_back(one, manager.stats_category(one.name));
    return parts;
}

}  // namespace wq::api

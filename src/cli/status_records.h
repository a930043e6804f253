// What work_queue_status shows of records of catalog servers.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/status_options.h"
#include "factory/found_managers.h"

namespace wq::cli {

struct RecordedManagers {
    std::vector<catalog::Json> records;
    WallMicros asked_at = 0;  // by the catalog server's clock
};

// Managers, also of CCTools, but those of `listed`. Errors: those of CatalogClient::query().
Result<RecordedManagers> managers_of_catalogs(const StatusOptions& options,
                                              const std::vector<factory::FoundManager>& listed);

// The mark at the end of a row whose manager was silent for long, and so may have ended; else empty.
std::string mark_of(Duration silent);
std::string mark_of(const catalog::Json& record, WallMicros asked_at);

// Factories whose name, or the expression for their managers' names, matches.
Result<std::vector<catalog::Json>> factories_of_catalogs(const StatusOptions& options);

}  // namespace wq::cli

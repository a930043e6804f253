// What work_queue_status shows of records: of catalog servers, and of factories of the user.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "factory/found_managers.h"
#include "programs/status/status_options.h"

namespace wq::programs::status {

struct RecordedManagers {
    std::vector<net::catalog::Json> records;
    WallMicros asked_at = 0;  // by the catalog server's clock
};

// Managers, also of CCTools, but those of `listed`. Errors: those of CatalogClient::query().
Result<RecordedManagers> managers_of_catalogs(const StatusOptions& options,
                                              const std::vector<wq::factory::FoundManager>& listed);

// The mark at the end of a row whose manager was silent for long, and so may have ended; else empty.
std::string mark_of(Duration silent);
std::string mark_of(const net::catalog::Json& record, WallMicros asked_at);

struct FoundFactory {
    net::catalog::Json record;  // whole, or as the table shows it
    std::string mark{};         // as of managers
};
// Those whose name, or the expression for their managers' names, matches, and for which --where is true.
std::vector<FoundFactory> factories_of_user(const StatusOptions& options);
// Adds those that are not there. Errors: those of CatalogClient::query().
Status add_factories_of_catalogs(const StatusOptions& options, std::vector<FoundFactory>& factories);

}  // namespace wq::programs::status

// The tables of work_queue_status: columns, widths and cutting are those of CCTools' program, to the byte, as
// long as it cuts only texts. A cut number or address is a wrong one. They are never cut here; the following
// blanks shrink instead.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "factory/found_managers.h"
#include "programs/status/status_options.h"

namespace wq::programs::status {

struct StatusColumn {
    const char* title;
    const char* key;  // of a record
    enum class Align { left, right } align;
    int width;               // below 0: at least so wide; such columns share the rest of the line
    bool gigabytes = false;  // the value is in MB
    bool whole = false;      // as numbers are, the text is not cut
};
using StatusColumns = std::vector<StatusColumn>;

// The modes of the command line.
extern const StatusColumns queue_columns;
extern const StatusColumns task_columns;
extern const StatusColumns worker_columns;
extern const StatusColumns category_columns;
extern const StatusColumns resource_columns;
extern const StatusColumns capacity_columns;
extern const StatusColumns factory_columns;  // CCTools' program has none

class StatusTable {
  public:
    // Columns beyond the width of the line are omitted.
    StatusTable(const StatusColumns& columns, int line_width);

    std::string header() const;  // a line
    // A line, with `mark` at its end; ??? for what the record lacks.
    std::string row(const Json& record, const std::string& mark = "") const;

  private:
    StatusColumns columns_;  // with their widths in this table
};

// $COLUMNS, else that of the terminal, else 80.
int line_width();

// What work_queue_status shows of records: of catalog servers, and of factories of the user.
struct RecordedManagers {
    std::vector<Json> records;
    WallMicros asked_at = 0;  // by the catalog server's clock
};

// Managers, also of CCTools, but those of `listed`. Errors: those of CatalogClient::query().
Result<RecordedManagers> managers_of_catalogs(const StatusOptions& options,
                                              const std::vector<wq::factory::FoundManager>& listed);

// The mark at the end of a row whose manager was silent for long, and so may have ended; else empty.
std::string mark_of(Duration silent);
std::string mark_of(const Json& record, WallMicros asked_at);

struct FoundFactory {
    Json record;         // whole, or as the table shows it
    std::string mark{};  // as of managers
};
// Those whose name, or the expression for their managers' names, matches, and for which --where is true.
std::vector<FoundFactory> factories_of_user(const StatusOptions& options);
// Adds those that are not there. Errors: those of CatalogClient::query().
Status add_factories_of_catalogs(const StatusOptions& options, std::vector<FoundFactory>& factories);

}  // namespace wq::programs::status

// Reads a run from its journal: what stats.h5 has, without the files that were transferred.
#pragma once

#include <string>

#include "base/result.h"
#include "views/model/run_view.h"

namespace wq::views::model {

// Errors: as of scan_journal(). An incomplete last record is skipped.
Result<RunView> read_journal_run(const std::string& path, bool is_live);

}  // namespace wq::views::model

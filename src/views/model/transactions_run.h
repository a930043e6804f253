// Reads a run from a transactions log of this or another Work Queue.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "views/model/run_view.h"

namespace wq::views::model {

// Errors: as of parse_transactions(); bad_input also if the file cannot be read. 5 million lines take about
// 5 s.
Result<RunView> read_transactions_run(const std::string& path);
Result<RunView> transactions_run_of(std::string_view text, const std::string& name);

}  // namespace wq::views::model

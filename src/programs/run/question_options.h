// The command lines of work_queue_run that only ask about a run: --output, --why and --status.
#pragma once

#include <boost/program_options.hpp>

#include "base/result.h"
#include "programs/run/run_options.h"

namespace wq::programs::run {

bool asks(const boost::program_options::variables_map& given);
// Errors: usage.
Result<Command> parse_question(const boost::program_options::variables_map& given);

}  // namespace wq::programs::run

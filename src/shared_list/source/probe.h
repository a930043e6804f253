// A task that asks a worker's shell which variables a `#!` line has set.
#pragma once

#include <string>

#include "base/result.h"
#include "shared_list/replica/jump.h"

namespace wq::shared_list::source {

// Its command. The line follows as a comment, for the records.
std::string probe_of(const std::string& line);

// `output`: of the command, which succeeded. Error: a value makes no sense.
Result<replica::JumpVariables> answer_of(const std::string& output);

}  // namespace wq::shared_list::source

// Runs one call of a function and describes how it ended. It catches all that the function throws.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/outcome.h"
#include "node/process/functions.h"

namespace wq::node::process {

// The largest result. It fits into a frame of any wire.
inline constexpr std::size_t most_result_bytes = std::size_t{960} << 20;

struct CallEnd {
    engine::model::Ending ending = engine::model::Ending::exited;
    int exit_code = 0;
    std::string reason;
    std::string result;
};
CallEnd run_call(const FunctionTable& functions, const Call& call);

// The end of a call of an unknown function: not_started, 127, and the known names.
CallEnd no_such_function(const FunctionTable& functions, const std::string& name);
// The end of a call in fork mode if MPI was started before the session: not_started, 126.
CallEnd forks_no_calls();
CallEnd takes_no_index(const std::string& name);
// Called in a catch block: the end of a call whose reason is the exception.
CallEnd raised();

}  // namespace wq::node::process

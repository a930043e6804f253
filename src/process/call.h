// One call of a function, and what became of it. Nothing that the function throws gets out.
#pragma once

#include <cstdint>
#include <string>

#include "core/outcome.h"
#include "process/functions.h"

namespace wq::process {

// Of a result. A frame of any wire takes it.
inline constexpr std::size_t most_result_bytes = std::size_t{960} << 20;

struct CallEnd {
    core::Ending ending = core::Ending::exited;
    int exit_code = 0;
    std::string reason;
    std::string result;
};
CallEnd run_call(const FunctionTable& functions, const Call& call);

// A call that no function here answers to: not_started, 127, and which names there are.
CallEnd no_such_function(const FunctionTable& functions, const std::string& name);
// A call in fork mode where MPI was there before the session: not_started, 126.
CallEnd forks_no_calls();
CallEnd takes_no_index(const std::string& name);
// Within a catch block: what was thrown, as a reason.
CallEnd raised();

}  // namespace wq::process

// What an interpreter and its processes tell the launcher, as text (interpreter.h and call_process.h list
// it). The functions of users run there, so it may be anything.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "node/calls/request.h"

namespace wq::node::calls {

struct InterpreterReport {
    enum class Kind { started, forked, impossible, ended, imported };
    Kind kind{};
    pid_t pid = 0;          // forked or ended: above 0
    std::size_t count = 0;  // impossible: so many processes
    std::string why;        // impossible
    End end;                // ended
};
// nullopt: it is none, and nothing is known of it.
std::optional<InterpreterReport> report_in(std::string_view text);

// "STATUS USER_US SYSTEM_US PEAK_KB BLOCKS_READ BLOCKS_WRITTEN VOLUNTARY INVOLUNTARY". nullopt: it is not
// that.
std::optional<End> end_in(std::string_view text);

}  // namespace wq::node::calls

// Runs gnuplot on a script.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wq::cli {

// Feeds `script` to `program` and waits for its end. Errors: unreachable (no such program), internal (it
// failed; the message is its first error, in one line).
Status run_gnuplot(const std::string& program, std::string_view script);

}  // namespace wq::cli

// The last step of a command that prints: a full disk or a closed pipe must not lose its output unnoticed.
#pragma once

namespace wq {

// Writes what is buffered for stdout. Returns `code`; or, if it is 0 and output was lost, says so and returns
// exit_refused.
int after_output(const char* program, int code);

}  // namespace wq

// What the system refuses: processes, descriptors, memory, room for output. Errors name the remedy.
#pragma once

#include <cerrno>
#include <exception>
#include <optional>
#include <string>

#include "base/result.h"

namespace wq {

// "WHAT: REASON; REMEDY", by an errno value. Its code is `other` if nothing is short.
Error refused_by_system(const std::string& what, int number = errno, ExitCode other = ExitCode::refused);

// A shortage that the library of C++ reports; nullopt: another exception.
std::optional<Error> shortage_of(const std::exception& error);

// For main(): an exception that nobody expected is a shortage, or our bug.
Error unexpected(const std::exception& error);

// The last step of a command that prints: a full disk or a closed pipe must not lose its output unnoticed.
// Writes what is buffered for stdout. Returns `code`; or, if it is 0 and output was lost, says so and returns
// 71.
int after_output(const char* program, int code);

}  // namespace wq

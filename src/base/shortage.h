// Errors for shortages of processes, descriptors or memory; each names its remedy.
#pragma once

#include <cerrno>
#include <exception>
#include <optional>
#include <string>

#include "base/result.h"

namespace wq {

// The system refuses what is needed, or does not take what is written to stdout (sysexits.h: EX_OSERR).
inline constexpr ExitCode exit_refused{71};

// "WHAT: REASON; REMEDY", by an errno value. Its code is `other` if nothing is short.
Error refused_by_system(const std::string& what, int number = errno, ExitCode other = exit_refused);

// A shortage that the library of C++ reports; nullopt: another exception.
std::optional<Error> shortage_of(const std::exception& error);

// For main(): an exception that nobody expected is a shortage, or our bug.
Error unexpected(const std::exception& error);

}  // namespace wq

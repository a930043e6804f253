// Errors of the connection to a master and of the helper there. Each is one line with the remedy.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::shared_list::ssh {

// The end of ssh's output to stderr, as part of a message.
std::string end_of_errors(const std::string& errors);

// ssh ended before the master's shell answered. `errors`: what it wrote.
Error no_connection(const std::string& host, const std::string& errors, int exit_code);
// The connection was there, and was lost.
Error lost_connection(const std::string& host, const std::string& errors);
// The master's helper cannot do what it was asked for: `why` is a word and perhaps what a command said.
Error helper_problem(const std::string& host, const std::string& list, const std::string& why,
                     const std::string& errors);

}  // namespace wq::shared_list::ssh

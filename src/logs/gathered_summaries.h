// FOLDER/wq-PID.summaries: the summaries of all managers of this process, a line each.
#pragma once

#include <string>

namespace wq::logs {

// The whole line or nothing. The first one begins the file anew: what another process of the same id has left
// is of another run, and is kept as PATH.1, PATH.2 and so on. 0, or why not: an errno.
int append_summary(const std::string& path, const std::string& line);

}  // namespace wq::logs

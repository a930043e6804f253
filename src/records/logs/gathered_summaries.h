// FOLDER/wq-PID.summaries: the summaries of all managers of this process, one per line.
#pragma once

#include <string>

namespace wq::records::logs {

// Appends the whole line or nothing. The first call starts the file anew: a file of another process with the
// same id belongs to another run, and is kept as PATH.1, PATH.2 and so on. Returns 0 or an errno.
int append_summary(const std::string& path, const std::string& line);

}  // namespace wq::records::logs

// Whether this worker sees what the manager has: each mark is a text that it finds at a path only if so.
#pragma once

#include <string>

namespace wq::worker {

// In a file: the manager's files are ours, too.
bool sees_file(const std::string& path, const std::string& mark);
// In a memory of the manager's process: we can map its other memories. Not so on another host, in another PID
// namespace, or as another user.
bool sees_memory(const std::string& path, const std::string& mark);

}  // namespace wq::worker

// What tells one state of a list from another: "INODE SIZE MTIME".
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace wq::shared_list::store {

// MTIME as `stat -c %.9Y` of GNU prints it, since a master's shell makes the same text.
std::string identity_of(const struct stat& file);

std::optional<struct stat> stat_of(const std::string& path);

}  // namespace wq::shared_list::store

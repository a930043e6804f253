// What a task's environment has besides that of its worker; nothing: the variable is taken out of it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace wq {

using EnvironmentChanges = std::vector<std::pair<std::string, std::optional<std::string>>>;

void put(ByteWriter& out, const EnvironmentChanges& changes);
void get(ByteReader& in, EnvironmentChanges& changes);

}  // namespace wq

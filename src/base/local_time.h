// Formats the local time of this machine.
#pragma once

#include <string>

#include "base/time.h"

namespace wq {

// `format`: as for strftime.
std::string local_time(WallMicros when, const char* format);

}  // namespace wq

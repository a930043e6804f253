// Time as text. `format`: as for strftime.
#pragma once

#include <string>

#include "base/time.h"

namespace wq {

// In the time zone of this machine.
std::string local_time(WallMicros when, const char* format);

std::string utc_time(WallMicros when, const char* format);

}  // namespace wq

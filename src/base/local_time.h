// The local time of this machine as text.
#pragma once

#include <string>

#include "base/time.h"

namespace wq {

// `format` as of strftime.
std::string local_time(WallMicros when, const char* format);

}  // namespace wq

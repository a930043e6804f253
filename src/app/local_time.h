// What a clock on the wall of this machine says.
#pragma once

#include <string>

#include "base/time.h"

namespace wq::app {

// `format` as of strftime.
std::string local_time(WallMicros when, const char* format);

}  // namespace wq::app

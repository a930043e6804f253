// Figures as people read them on the pages.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "views/model/account.h"

namespace wq::views::terminal {

std::string clock_text(WallMicros when);           // "12:03:10", by the time zone of this machine; "-" for 0
std::string date_text(WallMicros when);            // "11-30 12:03:10"
std::string micros_text(std::int64_t micros);      // "5m12s"; "-" if it is not recorded
std::string mb_text(std::int64_t megabytes);       // "812.0 MiB"; "-" if it is not recorded
std::string count_text(std::int64_t count);        // "1,200"; "?" if it is not recorded
std::string cores_text(std::int64_t thousandths);  // "1,200", "0.5"; "-" if it is not recorded
std::string fixed(double value, int digits);       // "0.98"
double share_of(model::CoreTime part, model::CoreTime all);
std::string core_time_text(model::CoreTime time);  // "23s", "5m12s", "1234.56h"

}  // namespace wq::views::terminal

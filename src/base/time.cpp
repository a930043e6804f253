#include "base/time.h"

#include <array>
#include <ctime>

namespace wq {

namespace {

std::string text_of(WallMicros when, const char* format, std::tm* (*parts_of)(const std::time_t*, std::tm*)) {
    const std::time_t seconds = when / micros_per_second;
    std::tm parts{};
    parts_of(&seconds, &parts);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string local_time(WallMicros when, const char* format) {
    return text_of(when, format, ::localtime_r);
}

std::string utc_time(WallMicros when, const char* format) {
    return text_of(when, format, ::gmtime_r);
}

}  // namespace wq

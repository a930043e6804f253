#include "base/local_time.h"

#include <array>
#include <ctime>

namespace wq {

std::string local_time(WallMicros when, const char* format) {
    const auto seconds = static_cast<std::time_t>(when / 1'000'000);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace wq

#include "views/terminal/texts.h"

#include <array>
#include <cstdio>

#include "base/units.h"

namespace wq::views::terminal {

std::string clock_text(WallMicros when) {
    return when == 0 ? "-" : local_time(when, "%H:%M:%S");
}

std::string date_text(WallMicros when) {
    return when == 0 ? "-" : local_time(when, "%m-%d %H:%M:%S");
}

std::string micros_text(std::int64_t micros) {
    return micros < 0 ? "-" : format_duration(std::chrono::microseconds(micros));
}

std::string mb_text(std::int64_t megabytes) {
    if (megabytes < 0) return "-";
    return megabytes > most_mb ? "?" : format_size(megabytes * bytes_per_mb);
}

std::string count_text(std::int64_t count) {
    return count < 0 ? "?" : format_count(static_cast<std::uint64_t>(count));
}

std::string cores_text(std::int64_t thousandths) {
    if (thousandths < 0) return "-";
    const Count cores = Count::of_thousandths(thousandths);
    return cores.is_whole() ? count_text(cores.rounded_down()) : format_count_with_fraction(cores);
}

std::string fixed(double value, int digits) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

double share_of(model::CoreTime part, model::CoreTime all) {
    return all <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::string core_time_text(model::CoreTime time) {
    constexpr model::CoreTime hour = model::CoreTime{1000} * 3600 * micros_per_second;
    if (time < hour)
        return format_duration(std::chrono::microseconds(static_cast<std::int64_t>(time / 1000)));
    return fixed(static_cast<double>(time) / static_cast<double>(hour), 2) + "h";
}

}  // namespace wq::views::terminal

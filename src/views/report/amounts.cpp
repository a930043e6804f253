#include "views/report/amounts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "base/time.h"
#include "base/units.h"

namespace wq::views::report {

double core_seconds(model::CoreTime time) {
    return static_cast<double>(time) / 1000 / static_cast<double>(micros_per_second);
}

double percent_of(model::CoreTime part, model::CoreTime whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string decimal(double value, int digits) {
    std::array<char, 400> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

std::string percent_text(double percent) {
    return decimal(percent, 1) + " %";
}

std::string short_decimal(double value) {
    std::string text = decimal(value, 1);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
}

std::string duration_text(double seconds) {
    constexpr double most = 1e9;  // seconds; a century is 3e9, and a Duration holds 9e9
    return format_duration(
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, most))));
}

std::string memory_text(double mb) {
    constexpr double most = static_cast<double>(most_mb);
    return format_size(static_cast<std::int64_t>(std::clamp(mb, 0.0, most) * bytes_per_mb));
}

std::string signed_percent_text(double before, double after) {
    if (before <= 0) return "-";
    const double percent = 100 * (after - before) / before;
    if (percent > 9999) return "> 100 x";
    return (percent >= 0.5 ? "+" : "") + decimal(std::round(percent) == 0 ? 0 : percent, 0) + " %";
}

CoreUnit::CoreUnit(model::CoreTime offered) : is_hours_(core_seconds(offered) >= 3600) {}

std::string CoreUnit::text(model::CoreTime time) const {
    return decimal(core_seconds(time) / (is_hours_ ? 3600 : 1), 2);
}

std::string shown_name(std::string_view name, std::size_t most) {
    return name.empty() ? "-" : line_for_message(name, most);
}

std::string shown_task(std::uint64_t task, std::int64_t line) {
    return "task " + std::to_string(task) + (line > 0 ? " (line " + std::to_string(line) + ")" : "");
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width, std::size_t indent) {
    std::vector<std::string> lines;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string blanks(lines.empty() ? 0 : indent, ' ');
        const std::size_t room = width - blanks.size();
        std::size_t end = rest.size();
        if (end > room) {
            const std::size_t blank = rest.rfind(' ', room);
            end = blank == std::string_view::npos || blank == 0 ? room : blank;
        }
        lines.push_back(blanks + std::string(rest.substr(0, end)));
        rest.remove_prefix(end);
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
    return lines;
}

}  // namespace wq::views::report

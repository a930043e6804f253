#include <array>
#include <cstdio>

#include "base/units.h"

namespace wq {

namespace {

// "3m05s": two adjacent units, the smaller with two digits.
std::string pair_of_units(std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
    std::string text = std::to_string(large) + large_unit;
    if (small < 10) text += '0';
    return text + std::to_string(small) + small_unit;
}

std::int64_t divide_rounded(std::int64_t value, std::int64_t by) {
    return value / by + (value % by * 2 >= by ? 1 : 0);
}

// The length of the valid UTF-8 sequence at the front of `text`, else 0. The C1 controls U+0080..9F count as
// invalid: terminals interpret them.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
    for (std::size_t at = 1; at < size; ++at) {
        if ((byte(at) & 0xC0) != 0x80) return 0;
    }
    const unsigned second = byte(1);
    if ((lead == 0xC2 && second < 0xA0) || (lead == 0xE0 && second < 0xA0) ||
        (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
        (lead == 0xF4 && second > 0x8F)) {
        return 0;
    }
    return size;
}

std::string shown(std::string_view text, std::string_view quote, std::size_t most) {
    const std::string cut = std::string(quote) + "...";
    std::string out(quote);
    std::size_t last_fit = out.size();  // where to truncate the text so that "..." still fits
    while (!text.empty()) {
        const auto lead = static_cast<unsigned char>(text.front());
        const std::size_t size = lead < 0x20 || lead == 0x7F ? 0 : utf8_length(text);
        if (size > 0) {
            out.append(text.substr(0, size));
        } else {
            constexpr std::string_view digits = "0123456789abcdef";
            out.append("\\x").append(1, digits[lead >> 4]).append(1, digits[lead & 15]);
        }
        text.remove_prefix(size > 0 ? size : 1);
        if (out.size() + cut.size() <= most) last_fit = out.size();
        if (out.size() + quote.size() > most) {
            out.resize(last_fit);
            return out.append(cut);
        }
    }
    return out.append(quote);
}

}  // namespace

std::string format_duration(Duration value) {
    const std::int64_t nanos = value.count();
    if (nanos < 0) return "-" + format_duration(Duration(-(nanos + 1)));
    const std::int64_t hundredths = divide_rounded(nanos, 10'000'000);
    if (hundredths < 1000) {
        std::array<char, 16> text{};
        std::snprintf(text.data(), text.size(), "%d.%02ds", static_cast<int>(hundredths / 100),
                      static_cast<int>(hundredths % 100));
        return text.data();
    }
    const std::int64_t seconds = divide_rounded(nanos, 1'000'000'000);
    if (seconds < 60) return std::to_string(seconds) + "s";
    if (seconds < 3600) return pair_of_units(seconds / 60, 'm', seconds % 60, 's');
    const std::int64_t minutes = divide_rounded(seconds, 60);
    if (minutes < 24 * 60) return pair_of_units(minutes / 60, 'h', minutes % 60, 'm');
    const std::int64_t hours = divide_rounded(seconds, 3600);
    return pair_of_units(hours / 24, 'd', hours % 24, 'h');
}

std::string format_size(std::int64_t bytes) {
    if (bytes < 0) return "-" + format_size(bytes == INT64_MIN ? INT64_MAX : -bytes);
    if (bytes < 1024) return std::to_string(bytes) + " B";
    constexpr std::array<const char*, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    // 1023.95 would print as "1024.0".
    while (value >= 1023.95 && unit + 1 < units.size()) value /= 1024, ++unit;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", value, units[unit]);
    return text.data();
}

std::string format_count(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
    return text;
}

std::string count_of(std::uint64_t value, std::string_view noun) {
    return format_count(value).append(" ").append(noun).append(value == 1 ? "" : "s");
}

std::string quote_for_message(std::string_view text) {
    return shown(text, "'", 80);
}

std::string line_for_message(std::string_view text, std::size_t most) {
    return shown(text, "", most);
}

}  // namespace wq

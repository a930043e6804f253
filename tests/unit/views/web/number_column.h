#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace wq::views::web {

// The numbers of a column, as a browser decodes them.
inline std::vector<std::int64_t> numbers_in(std::string_view column) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::vector<std::int64_t> values;
    std::uint64_t bits = 0, number = 0;
    int held = 0, shift = 0;
    for (const char letter : column) {
        if (letter == '=') break;
        bits = bits << 6 | letters.find(letter);
        if ((held += 6) < 8) continue;
        held -= 8;
        const std::uint64_t byte = bits >> held & 255;
        number |= (byte & 127) << shift;
        shift = byte > 127 ? shift + 7 : 0;
        if (shift != 0) continue;
        const auto difference = static_cast<std::int64_t>(number >> 1);
        values.push_back((values.empty() ? 0 : values.back()) +
                         ((number & 1) != 0 ? ~difference : difference));
        number = 0;
    }
    return values;
}

}  // namespace wq::views::web

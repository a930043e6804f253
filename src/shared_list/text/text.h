// Blanks and words of marked lines.
#pragma once

#include <string_view>

#include "base/take_number.h"

namespace wq::shared_list::text {

inline constexpr std::string_view blanks = " \t\r\v\f";

inline std::string_view trim_right(std::string_view text) {
    const std::size_t last = text.find_last_not_of(blanks);
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

inline std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view() : trim_right(text.substr(first));
}

// Removes `prefix` from the front of `rest`; false: it begins otherwise.
inline bool take_text(std::string_view& rest, std::string_view prefix) {
    if (!rest.starts_with(prefix)) return false;
    rest.remove_prefix(prefix.size());
    return true;
}

}  // namespace wq::shared_list::text

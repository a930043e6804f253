// Pads text to the columns of a table; longer text is not cut.
#pragma once

#include <string>

namespace wq::manager::report {

inline std::string left_aligned(const std::string& text, std::size_t width) {
    return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

inline std::string right_aligned(const std::string& text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

}  // namespace wq::manager::report

// Lines of a text that is complete.
#pragma once

#include <algorithm>
#include <string_view>

namespace wq {

// Removes the first line from `rest`, with its newline, and returns the line without it. The last line may
// lack a newline. An empty `rest` gives an empty line.
inline std::string_view next_line(std::string_view& rest) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    return line;
}

}  // namespace wq

// Lines and numbers of a text that is complete, text for a shell, and columns of a table.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace wq {

// Removes the first line from `rest`, with its newline, and returns the line without it. The last line may
// lack a newline. An empty `rest` gives an empty line.
inline std::string_view next_line(std::string_view& rest) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    return line;
}

// Reads a number from the front of `rest` and removes it; nullopt: there is none, or it is too large.
template <class Number>
std::optional<Number> take_number(std::string_view& rest) {
    Number value{};
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (problem != std::errc{}) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
}

// All of `text` is the number.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    const auto value = take_number<Number>(text);
    return text.empty() ? value : std::nullopt;
}

// `text` in single quotes for any POSIX shell.
std::string single_quoted(std::string_view text);

// `text` padded with blanks to `width`; longer text is not cut.
std::string left_aligned(const std::string& text, std::size_t width);
std::string right_aligned(const std::string& text, std::size_t width);

}  // namespace wq

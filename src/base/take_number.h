// Numbers in texts that programs have written.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace wq {

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

}  // namespace wq

// Finds the members of a JSON object in its text, without reading what is in them. A JSON library would build
// a value of each argument and result, refuse those of Python that are no strict JSON (NaN, Infinity, lone
// surrogates), and use stack for each level of nesting.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace wq::functions::coprocess {

struct JsonObject {
    std::size_t end = 0;    // of its members: where the last `}` is
    std::size_t depth = 1;  // of nested objects and arrays, with itself
    bool empty = true;
};

// The text of a member's value as it stands there; the key without quotes, its escapes as they stand there.
using OnJsonMember = std::function<void(std::string_view key, std::string_view value)>;

// nullopt: the text is no object. Values may contain anything, as long as their quotes and brackets end.
std::optional<JsonObject> read_json_object(std::string_view text, const OnJsonMember& on_member);

}  // namespace wq::functions::coprocess

// The values of `key=value` words, and suggestions for misspelled keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/count.h"
#include "base/result.h"

namespace wq::taskfile {

// Whole numbers from 0 to a million. Errors here (usage): the message alone.
Result<std::int64_t> parse_number(std::string_view text);
// Cores or GPUs: from 0 to most_cores, with up to three decimals.
Result<Count> parse_fraction(std::string_view text);
// A size as MB of 2^20 bytes, rounded up.
Result<std::int64_t> parse_megabytes(std::string_view text);
// The same, above 0.
Result<std::int64_t> parse_memory(std::string_view text);
// See is_name() in tags.h.
Result<std::string> parse_category_name(std::string_view text);

// Sets `field` to the parsed value; an empty value resets it.
template <class T, class Parse>
Status set_field(std::optional<T>& field, std::string_view value, Parse&& parse) {
    if (value.empty()) {
        field.reset();
        return success();
    }
    auto parsed = parse(value);
    if (!parsed) return parsed.error();
    field = static_cast<T>(*parsed);
    return success();
}

// Levenshtein distance: insertions, deletions and replacements from one word to the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

// " (did you mean 'NAME'?)" for the key most similar to the word; empty if none is. Keys have a `name` and a
// `nickname` (the name in other systems).
template <class Keys>
std::string did_you_mean(std::string_view word, const Keys& keys) {
    constexpr std::size_t most_edits = 2;
    if (word.size() > 32) return {};
    std::size_t best = most_edits + 1;
    std::string_view name;
    for (const auto& key : keys) {
        const std::size_t edits = word == key.nickname ? 0 : edit_distance(word, key.name);
        if (edits < best && edits < key.name.size() / 2 + 1) best = edits, name = key.name;
    }
    return name.empty() ? std::string{} : " (did you mean '" + std::string(name) + "'?)";
}

}  // namespace wq::taskfile

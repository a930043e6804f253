// `#WQ key=value ...` lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/similar_word.h"
#include "base/units.h"
#include "engine/tasklist/list.h"

namespace wq::engine::tasklist {

// Applies the words after `#WQ` to `settings`, all or none. Error: the message without file and line.
Status apply_settings(std::string_view words, Settings& settings);

// The values of `key=value` words, and suggestions for misspelled keys.

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

// " (did you mean 'NAME'?)" for the key most similar to the word; empty if none is. Keys have a `name` and a
// `nickname` (the name in other systems).
template <class Keys>
std::string suggest_key(std::string_view word, const Keys& keys) {
    std::vector<std::string_view> names;
    for (const auto& key : keys) {
        if (word == key.nickname) return did_you_mean(key.name);
        names.push_back(key.name);
    }
    return did_you_mean(most_similar(word, names));
}

}  // namespace wq::engine::tasklist

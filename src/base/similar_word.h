// Suggestions for misspelt words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wq {

// The name most similar to the word: at most three letters are inserted, deleted or replaced, and at most
// half of the name, or a third if they are three. If there is none, the only one that begins with the word,
// of three letters or more. Empty: none is similar.
std::string_view most_similar(std::string_view word, const std::vector<std::string_view>& names);

// " (did you mean 'NAME'?)"; empty for an empty name.
std::string did_you_mean(std::string_view name);

}  // namespace wq

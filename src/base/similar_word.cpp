#include "base/similar_word.h"

#include <algorithm>
#include <numeric>

namespace wq {

namespace {

// Levenshtein's.
std::size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::string_view begun_by(std::string_view word, const std::vector<std::string_view>& names) {
    constexpr std::size_t shortest_word = 3;
    std::string_view one;
    for (const std::string_view name : names) {
        if (word.size() < shortest_word || !name.starts_with(word)) continue;
        if (!one.empty()) return {};
        one = name;
    }
    return one;
}

}  // namespace

std::string_view most_similar(std::string_view word, const std::vector<std::string_view>& names) {
    constexpr std::size_t most_edits = 3;
    const auto is_near = [](std::size_t edits, std::string_view name) {
        return edits <= name.size() / (edits < most_edits ? 2 : 3);
    };
    constexpr std::size_t longest_word = 100;
    std::string_view best;
    if (word.size() > longest_word) return best;
    std::size_t least = most_edits + 1;
    for (const std::string_view name : names)
        if (const std::size_t edits = edit_distance(word, name); edits < least && is_near(edits, name))
            least = edits, best = name;
    return best.empty() ? begun_by(word, names) : best;
}

std::string did_you_mean(std::string_view name) {
    return name.empty() ? std::string{} : " (did you mean '" + std::string(name) + "'?)";
}

}  // namespace wq

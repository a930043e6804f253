#include "taskfile/sources.h"

namespace wq::taskfile {

namespace {

constexpr std::string_view place = "{}";

std::string fill(std::string_view text, std::string_view value) {
    std::string filled;
    filled.reserve(text.size() + value.size());
    for (std::size_t at = text.find(place); at != std::string_view::npos; at = text.find(place)) {
        filled.append(text.substr(0, at)).append(value);
        text.remove_prefix(at + place.size());
    }
    return filled.append(text);
}

}  // namespace

std::string CommandTemplate::render(std::string_view value) const {
    bool filled = false;
    for (const std::string& word : words_) filled = filled || word.find(place) != std::string::npos;
    std::string line;
    if (words_.size() == 1) {
        line = fill(words_.front(), shell_quote(value));
    } else {
        for (const std::string& word : words_) {
            const std::string text = fill(word, value);
            line += line.empty() ? shell_quote_command(text) : " " + shell_quote(text);
        }
    }
    if (filled) return line;
    return line.append(line.empty() ? "" : " ").append(shell_quote(value));
}

std::string CommandTemplate::describe() const {
    std::string text;
    for (const std::string& word : words_) text.append(text.empty() ? "" : " ").append(shell_quote(word));
    return text;
}

}  // namespace wq::taskfile

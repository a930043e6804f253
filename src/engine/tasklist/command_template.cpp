#include "engine/tasklist/shell_scan.h"
#include "engine/tasklist/sources.h"

namespace wq::engine::tasklist {

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

// Within quotes, closes them before the value, which is quoted itself, and reopens them after it.
std::string quoted_within(std::string_view value, char around) {
    const std::string quoted = shell_quote(value);
    if (around == '"') return '"' + quoted + '"';
    if (around == '\'') return '\'' + quoted + '\'';
    if (around == '$') return '\'' + quoted + "$'";
    return quoted;
}

}  // namespace

CommandTemplate::CommandTemplate(std::vector<std::string> words) : words_(std::move(words)) {
    if (words_.size() != 1) return;
    const std::string& line = words_.front();
    const ShellScan scan = scan_shell(line);
    for (std::size_t at = line.find(place); at != std::string::npos;
         at = line.find(place, at + place.size())) {
        const char around = at < scan.around.size() ? scan.around[at] : ' ';
        if (around != '\\') places_.push_back({at, around});
    }
}

Status CommandTemplate::check() const {
    for (const Place& found : places_)
        if (found.around == '`' || found.around == '{')
            return Error{ExitCode::usage, std::string("{} cannot be inside ") +
                                              (found.around == '`' ? "backticks; write $( )" : "${ }") +
                                              ": " + words_.front()};
    return success();
}

std::string CommandTemplate::fill_line(std::string_view value) const {
    const std::string_view line = words_.front();
    std::string filled;
    std::size_t from = 0;
    for (const Place& found : places_) {
        filled.append(line.substr(from, found.at - from)).append(quoted_within(value, found.around));
        from = found.at + place.size();
    }
    return filled.append(line.substr(from));
}

std::string CommandTemplate::render(std::string_view value) const {
    bool filled = !places_.empty();
    std::string line;
    if (words_.size() == 1) {
        line = fill_line(value);
    } else {
        for (const std::string& word : words_) {
            filled = filled || word.find(place) != std::string::npos;
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

}  // namespace wq::engine::tasklist

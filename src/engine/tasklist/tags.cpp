#include "engine/tasklist/tags.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/units.h"
#include "engine/tasklist/shell_scan.h"

namespace wq::engine::tasklist {

namespace {

constexpr std::string_view kinds = "!@:+";

bool is_name_start(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

std::optional<std::uint32_t> worker_id(std::string_view digits) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

void add_group(std::vector<GroupMembership>& groups, std::string_view name, bool sequential) {
    for (auto& group : groups) {
        if (group.name != name) continue;
        group.sequential =
            group.sequential || sequential;  // sequential waits for everything that parallel waits for
        return;
    }
    groups.push_back({std::string(name), sequential});
}

// Reads one tag, without its `#`, into `tags` unless that is null. False: it is no tag.
bool read_tag(std::string_view tag, Tags* tags) {
    if (tag.empty()) return false;
    const char kind = tag.front();
    const std::string_view value = tag.substr(1);
    if (kind == '!') {
        if (tags != nullptr) tags->environment = true;
        return value.empty();
    }
    if (kind == '@') {
        const auto id = worker_id(value);
        if (id && tags != nullptr && std::ranges::find(tags->workers, *id) == tags->workers.end()) {
            tags->workers.push_back(*id);
        }
        return id.has_value();
    }
    if ((kind != ':' && kind != '+') || (!value.empty() && !is_name(value))) return false;
    if (tags != nullptr) {
        tags->barrier = tags->barrier || (kind == ':' && value.empty());
        if (kind == ':' || !value.empty()) add_group(tags->groups, value, kind == ':');
    }
    return true;
}

bool read_tag_word(std::string_view word, Tags* tags) {
    if (!word.starts_with('#')) return false;
    while (!word.empty()) {
        const std::size_t end = std::min(word.find('#', 1), word.size());
        if (!read_tag(word.substr(1, end - 1), tags)) return false;
        word.remove_prefix(end);
    }
    return true;
}

// A word that nobody would write as a comment: `#@x`, `#!!`, `#:a'`.
bool looks_like_tag(std::string_view word) {
    return word.size() >= 2 && word[0] == '#' && kinds.find(word[1]) != std::string_view::npos;
}

std::string_view trim_front(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    return text;
}

// An escaped blank at the end belongs to the command.
std::string_view trim_back(std::string_view text) {
    while (!text.empty() && is_blank(text.back()) && !is_escaped(text, text.size() - 1))
        text.remove_suffix(1);
    return text;
}

std::string_view last_word(std::string_view text) {
    const std::size_t blank = text.find_last_of(" \t");
    return blank == std::string_view::npos ? text : text.substr(blank + 1);
}

constexpr std::string_view advice =
    "tags are #!, #@ID, #:GROUP and #+GROUP and end their line; a comment begins with '# '";

// Finds a comment that was clearly meant as tags, which the command would silently lose.
std::optional<std::string> misplaced_tag(std::string_view command) {
    const std::size_t start = scan_shell(command).remark;
    if (start == std::string_view::npos) return std::nullopt;
    std::string_view rest = command.substr(start);
    const std::string_view last = last_word(rest);
    const std::string_view first = take_word(rest);
    if (first == "#WQ") return "#WQ needs its own line, above the tasks that it is for";
    if (first == "#WQ-CATEGORY") return "#WQ-CATEGORY needs its own line";
    if (!looks_like_tag(first) && !looks_like_tag(last)) return std::nullopt;
    const std::string_view word = looks_like_tag(first) ? first : last;
    const bool glued = start > 0 && !is_blank(command[start - 1]) && word == first;
    if (glued && is_tag_word(word)) {
        return "the tag " + quote_for_message(word) + " needs a blank before it; " + std::string(advice);
    }
    if (!is_tag_word(word)) return "unknown tag " + quote_for_message(word) + "; " + std::string(advice);
    return "the tag " + quote_for_message(word) + " is followed by " + quote_for_message(trim_front(rest)) +
           "; " + std::string(advice);
}

}  // namespace

bool is_tag_word(std::string_view word) {
    return read_tag_word(word, nullptr);
}

bool is_name(std::string_view text) {
    return !text.empty() && is_name_start(text.front()) && std::ranges::all_of(text, [](char c) {
        return is_name_start(c) || std::string_view(".-/:,=+@%").find(c) != std::string_view::npos;
    });
}

std::string_view take_word(std::string_view& rest) {
    rest = trim_front(rest);
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    return word;
}

Result<TaggedLine> split_tags(std::string_view line) {
    TaggedLine result;
    std::string_view command = trim_back(trim_front(line));
    std::string_view run = command.substr(command.size());
    while (!command.empty()) {
        const std::string_view word = last_word(command);
        const std::size_t start = command.size() - word.size();
        if (!is_tag_word(word) || (start > 0 && is_escaped(command, start - 1))) break;
        run = {word.data(), static_cast<std::size_t>(line.data() + line.size() - word.data())};
        command = trim_back(command.substr(0, start));
    }
    for (auto word = take_word(run); !word.empty(); word = take_word(run)) {
        result.tags.any = true;
        read_tag_word(word, &result.tags);
    }
    if (is_escaped(command, command.size())) {
        return Error{ExitCode::bad_input,
                     "the command ends in a backslash, but a task is one line; join it with the next line"};
    }
    if (command.find('#') != std::string_view::npos) {
        if (auto problem = misplaced_tag(command)) return Error{ExitCode::bad_input, std::move(*problem)};
    }
    result.command = command;
    return result;
}

}  // namespace wq::engine::tasklist

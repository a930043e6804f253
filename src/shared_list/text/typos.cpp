#include "shared_list/text/typos.h"

#include <set>
#include <string_view>

#include "engine/tasklist/shell_scan.h"

namespace wq::shared_list::text {

namespace {

bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

bool is_name_byte(char byte) {
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

// How much of a comment's text reads like a tag: "!", "@3", ":name", "+name"; 0: it is none.
std::size_t tag_size(std::string_view text) {
    if (text.empty()) return 0;
    std::size_t size = 1;
    const bool is_group = text.front() == ':' || text.front() == '+';
    const bool is_worker = text.front() == '@';
    if (!is_group && !is_worker && text.front() != '!') return 0;
    while (size < text.size() && (is_group ? is_name_byte(text[size]) : is_worker && is_digit(text[size])))
        ++size;
    if ((is_group || is_worker) && size == 1) return 0;
    const bool ends =
        size == text.size() || std::string_view(" \t\r#").find(text[size]) != std::string_view::npos;
    return ends ? size : 0;
}

// A `#` with blanks and a tag behind it; "": there is none.
std::string spaced_tag(std::string_view comment) {
    for (std::size_t at = comment.find('#'); at != std::string_view::npos; at = comment.find('#', at + 1)) {
        const std::size_t text = comment.find_first_not_of(" \t", at + 1);
        if (text == std::string_view::npos || text == at + 1) continue;
        if (const std::size_t size = tag_size(comment.substr(text)); size != 0)
            return std::string(comment.substr(text, size));
    }
    return {};
}

std::set<std::string> sequential_groups(const Document& list) {
    std::set<std::string> names;
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        for (const auto& group : list.line(number).groups)
            if (group.sequential) names.insert(group.name);
    }
    return names;
}

}  // namespace

std::vector<std::string> likely_typos(const Document& list) {
    std::vector<std::string> typos;
    std::set<std::string> named = sequential_groups(list);
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const MarkedLine& line = list.line(number);
        if (line.kind == LineKind::text) continue;
        const std::string at = "line " + std::to_string(number) + ": ";
        for (const auto& group : line.groups) {
            if (!named.insert(group.name).second) continue;  // told once a group
            typos.push_back(at + "#+" + group.name + " waits for nothing, since no line has #:" + group.name);
        }
        const std::size_t comment = engine::tasklist::scan_shell(line.command).remark;
        if (comment == std::string_view::npos) continue;
        if (const std::string tag = spaced_tag(std::string_view(line.command).substr(comment)); !tag.empty())
            typos.push_back(at + "'# " + tag + "' is a comment; the tag is '#" + tag + "', without a blank");
    }
    return typos;
}

}  // namespace wq::shared_list::text

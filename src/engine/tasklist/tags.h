// The tags at the end of a line: `#!`, `#@ID`, `#:GROUP`, `#+GROUP`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/tasklist/list.h"

namespace wq::engine::tasklist {

struct Tags {
    bool any = false;
    bool environment = false;             // `#!`
    bool barrier = false;                 // `#:` without a name
    std::vector<std::uint32_t> workers;   // as written, each once
    std::vector<GroupMembership> groups;  // as written, each name once; without a bare `#+`
};

struct TaggedLine {
    std::string_view command;  // points into the line; without blanks and tags around it
    Tags tags;
};

// Splits the tag words off the line's end. Error (the message without file and line): the line's comment was
// clearly meant as tags; a backslash ends the line.
Result<TaggedLine> split_tags(std::string_view line);

// Whether the word is one tag or several joined ones.
bool is_tag_word(std::string_view word);

// A name of a group or a category: starts with a letter, a digit, `_` or a byte of UTF-8; continues with
// these and `. - / : , = + @ %`.
bool is_name(std::string_view text);

inline bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// Removes the next word from the front of `rest` and returns it; empty at the end.
std::string_view take_word(std::string_view& rest);

}  // namespace wq::engine::tasklist

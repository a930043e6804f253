// The tags that end a line: `#!`, `#@ID`, `#:GROUP`, `#+GROUP`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "taskfile/list.h"

namespace wq::taskfile {

struct Tags {
    bool any = false;
    bool environment = false;             // `#!`
    bool barrier = false;                 // `#:` with no name
    std::vector<std::uint32_t> workers;   // as written, each once
    std::vector<GroupMembership> groups;  // as written, each name once; a bare `#+` leaves none
};

struct TaggedLine {
    std::string_view command;  // points into the line; neither blanks nor tags around it
    Tags tags;
};

// Takes the run of tag words off the line's end. Error (the message alone, without file and line): the line's
// remark is plainly meant as tags but is none; a backslash ends the line.
Result<TaggedLine> split_tags(std::string_view line);

// Whether the word is one tag or several glued ones.
bool is_tag_word(std::string_view word);

// A name of a group or a category: starts with a letter, a digit, `_` or a byte of UTF-8, goes on with these
// and `. - / : , = + @ %`.
bool is_name(std::string_view text);

inline bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// The next word of `rest`, taken off its front; empty at the end.
std::string_view take_word(std::string_view& rest);

}  // namespace wq::taskfile

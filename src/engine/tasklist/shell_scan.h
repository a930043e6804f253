// Finds the words of a line that a shell reads as plain words, without quotes and substitutions, and the
// start of its comment.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wq::engine::tasklist {

// Replaces bytes that are quoted, escaped or within a substitution.
inline constexpr char masked = '\x01';

struct ShellScan {
    std::string plain;  // the line up to its comment, byte by byte, with `masked` for text that is not plain
    // As long as `plain`: the innermost context of each byte. ' ' none, '(' a substitution, '"' and '\''
    // quotes, '$' quotes that begin with $', '{' an expansion, '`' backticks; '\\' it is escaped.
    std::string around;
    std::size_t remark =
        std::string_view::npos;  // the `#` that begins the shell's comment; npos: none for sure
};

ShellScan scan_shell(std::string_view line);

// Whether an odd number of backslashes precedes the byte at `at`.
bool is_escaped(std::string_view line, std::size_t at);

}  // namespace wq::engine::tasklist

// What of a line a shell would read as plain words, without quotes and substitutions, and where its remark
// begins.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wq::taskfile {

// Stands in for bytes that are quoted, escaped or within a substitution.
inline constexpr char masked = '\x01';

struct ShellScan {
    std::string
        plain;  // the line up to its remark, byte by byte, with `masked` where the shell sees no plain text
    // As long as `plain`: what encloses each byte most closely. ' ' nothing, '(' a substitution, '"' and '\''
    // quotes, '$' quotes that begin with $', '{' an expansion, '`' backticks; '\\' it is escaped.
    std::string around;
    std::size_t remark =
        std::string_view::npos;  // where a `#` begins the shell's comment; npos: nowhere for sure
};

ShellScan scan_shell(std::string_view line);

// Whether the byte at `at` stands behind an odd number of backslashes.
bool is_escaped(std::string_view line, std::size_t at);

}  // namespace wq::taskfile

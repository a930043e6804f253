// Errors of a file, as far as a task's result distinguishes them, in one line that names the path.
#pragma once

#include <optional>
#include <string>

namespace wq::files {

struct Problem {
    enum class Kind {
        missing,     // no such file
        unreadable,  // it is there, and cannot be read or written, or is no file, folder or link
        changed,     // it was written to while it was read: another try may help
        full,        // the disk is, or a quota
        refused      // what the other side sent would lead out of its place, or is no tree
    };
    Kind kind = Kind::unreadable;
    std::string what;
};

// Nothing: all is well.
using Trouble = std::optional<Problem>;

// Of the last system call, about `path`: "PATH: No such file or directory".
Problem problem_of_errno(const std::string& path, int code);

}  // namespace wq::files

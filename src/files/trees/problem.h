// File errors, as far as a task's result distinguishes them, in one line that names the path.
#pragma once

#include <optional>
#include <string>

namespace wq::files::trees {

struct Problem {
    enum class Kind {
        missing,     // no such file
        unreadable,  // it exists, but cannot be read or written, or is no file, folder or link
        changed,     // it was written to while it was read: a retry may help
        full,        // the disk or a quota is full
        refused      // the other side sent no valid tree, or one that leads out of its folder
    };
    Kind kind = Kind::unreadable;
    std::string what;
};

// nullopt: no error.
using Trouble = std::optional<Problem>;

// The error of a system call on `path`: "PATH: No such file or directory".
Problem problem_of_errno(const std::string& path, int code);

}  // namespace wq::files::trees

// Copies a tree of the cache into a sandbox.
#pragma once

#include <string>

#include "files/trees/problem.h"

namespace wq::files::trees {

enum class Sharing {
    // Separate files, which share their blocks if the file system supports that (Linux: FICLONE).
    copied,
    // Hard links. The files are read-only, so that a task that writes in place gets an error; this does not
    // stop root.
    linked
};

// `from`: a file or a folder, without links that lead out of it. `to` must not exist, but its folder must.
// Files that cannot be linked (another file system, too many names) are copied.
Trouble copy_tree(const std::string& from, const std::string& to, Sharing sharing);

}  // namespace wq::files::trees

// Copies a tree of the cache into a sandbox.
#pragma once

#include <string>

#include "files/problem.h"

namespace wq::files {

enum class Sharing {
    // Files of their own, which share their blocks where the file system can do that (Linux: FICLONE).
    copied,
    // The same files under a further name. They have no right to write, so that a task that writes in place
    // is told so; who has rights over rights (root) is not stopped by it.
    linked
};

// `from`: a file or a folder, without links that lead out of it. `to` must not exist, its folder must. Where
// files cannot be linked (another file system, too many names) they are copied.
Trouble copy_tree(const std::string& from, const std::string& to, Sharing sharing);

}  // namespace wq::files

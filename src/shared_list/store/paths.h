// The files of a list, and how a name that a user gave leads to them.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::shared_list::store {

struct Paths {
    std::string file;       // absolute, and no symbolic link
    std::string directory;  // that it is in
    std::string lock;
    std::string folder;  // FILE.runtask
    std::string edits;
    std::string previous_edits;
    std::string alive;
    std::string old;
    std::string fresh;     // the next list, while it is written
    std::string in_place;  // and more: see in_place_file() in new_list.h
};

// `~` and `~user` at the beginning are homes. If the name is a symbolic link, everything lies beside the file
// that it leads to, so that workers that use different names share one lock.
Result<Paths> paths_of(const std::string& name);

}  // namespace wq::shared_list::store

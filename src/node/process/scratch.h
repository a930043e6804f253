// The temporary directory of a lane. Its tasks use it in turn; it is checked after each task, and emptied if
// needed.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace wq::node::process {

class LaneDirectory {
  public:
    // Empty `path`: there is no directory, and every call does nothing.
    explicit LaneDirectory(std::string path);

    const std::string& path() const { return path_; }
    // Empties it for the next task. A few plain files are removed at once. Anything larger is moved to the
    // returned path, for the caller to remove, because a task may leave a million files. Empty if nothing was
    // moved.
    std::string make_empty();

  private:
    void create();

    std::string path_;
    Descriptor directory_;
    std::size_t moved_ = 0;
};

}  // namespace wq::node::process

// The temporary directory of a lane's tasks: one for all of them in turn, looked at after each, emptied when
// needed.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace wq::process {

class LaneDirectory {
  public:
    // Empty `path`: there is none, and every call does nothing.
    explicit LaneDirectory(std::string path);

    const std::string& path() const { return path_; }
    // Makes it ready for the next task. A few plain files are removed at once; anything larger is moved
    // aside, to the returned path, for someone else to remove: a task may leave a million files. Empty:
    // nothing was moved.
    std::string make_empty();

  private:
    void create();

    std::string path_;
    Descriptor directory_;
    std::size_t moved_ = 0;
};

}  // namespace wq::process

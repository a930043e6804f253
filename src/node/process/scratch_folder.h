// The folder of a launcher's temporary directories: work_queue.XXXXXX in the user's folder. A locked file in
// it shows that its launcher, or the zygote, still lives. If SIGKILL ends both at once, as at the end of a
// batch job, a later run on that host removes the folder.
#pragma once

#include <optional>
#include <string>

#include "base/descriptor.h"

namespace wq::node::process {

class ScratchFolder {
  public:
    ScratchFolder() = default;  // none: its path is empty, and remove() does nothing

    // Also creates `parent` if it is missing. On nullopt, errno says why.
    static std::optional<ScratchFolder> make(const std::string& parent);

    // Absolute if `parent` is. This process and its forked children hold the lock.
    const std::string& path() const { return path_; }
    void remove();

  private:
    std::string path_;
    Descriptor lock_;
};

// Removes folders in `parent` that this user's runs on this host left behind and no longer lock.
void remove_abandoned_scratch(const std::string& parent);

}  // namespace wq::node::process

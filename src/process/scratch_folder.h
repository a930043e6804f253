// The folder of a launcher's temporary directories: work_queue.XXXXXX in the one that the user gave. A locked
// file in it says that its launcher, or the zygote above it, still lives: where SIGKILL ends all of them at
// once, as at the end of a batch job, nobody is left to remove it, and a later run on that host does.
#pragma once

#include <optional>
#include <string>

#include "base/descriptor.h"

namespace wq::process {

class ScratchFolder {
  public:
    ScratchFolder() = default;  // none: its path is empty, and remove() does nothing

    // Makes `parent` too if it is missing. Nothing: errno says why.
    static std::optional<ScratchFolder> make(const std::string& parent);

    // Absolute if `parent` is. The lock belongs to this process and the children that it forks.
    const std::string& path() const { return path_; }
    void remove();

  private:
    std::string path_;
    Descriptor lock_;
};

// Removes the folders in `parent` that this user's runs on this host left there, and no longer hold.
void remove_abandoned_scratch(const std::string& parent);

}  // namespace wq::process

// The temporary directory of a lane. Its tasks use it in turn; it is checked after each task, and emptied if
// needed.
#pragma once

#include <optional>
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

// The folder of a launcher's temporary directories: work_queue.XXXXXX in the user's folder. A locked file in
// it shows that its launcher, or the zygote, still lives. If SIGKILL ends both at once, as at the end of a
// batch job, a later run on that host removes the folder.
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

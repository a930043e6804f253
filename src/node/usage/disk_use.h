// Measures the disk usage below folders: the blocks of files and folders, each file once even if it has
// several names.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace wq::node::usage {

struct DiskUse {
    std::int64_t bytes = 0;
    std::int64_t files = 0;  // and folders, without the given ones
};

// Walks over all folders, in as many turns as needed. It does not follow links, or enter other file systems
// mounted below. One descriptor is open at a time, and each folder is opened from its parent, so depth and
// path length do not matter.
class DiskWalk {
  public:
    explicit DiskWalk(std::vector<std::string> folders) : given_(std::move(folders)) {}

    // Visits up to `entries` more entries, and starts none after `until`, but always visits at least one.
    // True if all are visited.
    bool go_on(std::int64_t entries, Instant until = Instant::max());
    const DiskUse& found() const { return found_; }
    bool in_one_turn() const { return turns_ <= 1; }

  private:
    using Place = std::pair<dev_t, ino_t>;
    struct Level {  // a folder on the path to the current one
        Place place;
        std::string name;                // name in its parent; for the first: its path
        bool read = false;               // completely
        std::vector<std::string> below;  // its folders that are still to be visited
    };
    struct CloseFolder {
        void operator()(DIR* folder) const { closedir(folder); }
    };
    using Folder = std::unique_ptr<DIR, CloseFolder>;

    static Folder open(int in, const char* name, int flags, Place& place);
    bool begin_next();
    bool step();
    void count(const char* name);
    void go_down();
    void go_up();
    void find_again();

    std::vector<std::string> given_;
    std::vector<Level> levels_;
    Folder here_;  // the last level; null if it cannot be read
    DiskUse found_;
    std::set<Place> named_again_;
    int turns_ = 0;
};

}  // namespace wq::node::usage

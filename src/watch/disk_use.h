// How much lies below folders: the blocks of files and folders, each file once whatever names it has.
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

namespace wq::watch {

struct DiskUse {
    std::int64_t bytes = 0;
    std::int64_t files = 0;  // and folders, but not those that were given
};

// A walk over all of it, in as many turns as it takes. Links are not followed, and other file systems that
// are mounted below not entered. One descriptor is open at a time, and each folder is opened from the one
// that it lies in: how deep it lies, and how long its path is, makes no difference.
class DiskWalk {
  public:
    explicit DiskWalk(std::vector<std::string> folders) : given_(std::move(folders)) {}

    // Looks at so many entries more, at most, and begins with none from `until` on; but always gets further.
    // True: it has seen all.
    bool go_on(std::int64_t entries, Instant until = Instant::max());
    const DiskUse& found() const { return found_; }
    bool in_one_turn() const { return turns_ <= 1; }

  private:
    using Place = std::pair<dev_t, ino_t>;
    struct Level {  // a folder that the walk is in, or below
        Place place;
        std::string name;                // in the one above; of the first: its path
        bool read = false;               // to its end
        std::vector<std::string> below;  // folders in it that are still to be visited
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
    Folder here_;  // of the last level; null: it cannot be read
    DiskUse found_;
    std::set<Place> named_again_;
    int turns_ = 0;
};

}  // namespace wq::watch

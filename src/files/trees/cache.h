// A worker's cache of trees by their content keys, in a separate folder. Tasks cannot damage it: if a task
// writes to a linked file, fresh() detects that and drops the tree.
//
// A tree arrives under a temporary name. It is renamed to its key after it is complete and its bytes match
// the key. So the folder survives a SIGKILL, and another worker may reuse it (keep-cache), after recomputing
// the key of each tree.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "files/trees/content_key.h"
#include "files/trees/problem.h"
#include "files/trees/tree_reader.h"
#include "files/trees/tree_writer.h"

namespace wq::files::trees {

// Copies a tree of the cache into a sandbox.
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

class Cache {
  public:
    // Creates `folder` if missing. Keeps complete trees of an earlier worker, and removes incomplete ones.
    explicit Cache(std::string folder);

    Trouble open();

    bool has(const std::string& key);
    // Reads the next few megabytes of an earlier worker's tree whose key is not verified yet. True if more
    // must be read before has() can answer at once.
    bool check_some(const std::string& key);

    // A tree that is arriving. Its stream may be split anywhere.
    class Incoming {
      public:
        Incoming(Cache& cache, std::string key);
        Trouble write(std::string_view bytes);
        // Called when all was written. A stream with another key is refused.
        Trouble finish();

      private:
        Cache& cache_;
        std::string key_;
        KeyMaker maker_;
        TreeWriter writer_;
        std::uint64_t stream_bytes_ = 0;
    };

    // Places the tree `key`, which must be in the cache, as `to` in a sandbox.
    Trouble place(const std::string& key, const std::string& to, Sharing sharing);
    // Called when a task is over: takes back a large copy that place() put at `at`, for the next task, if it
    // was not changed.
    void take_back(const std::string& at);
    // Whether the tree is unchanged; if not, drops it.
    bool fresh(const std::string& key);
    void drop(const std::string& key);
    // Called when the disk is full: drops copies that wait for a task, or else the half of the trees that
    // were not placed for longest. False if there is nothing to drop.
    bool make_room();

    std::uint64_t bytes() const { return bytes_; }  // sum of the streams of its trees

  private:
    struct Tree {
        std::uint64_t bytes = 0;
        bool trusted = true;       // this process computed its key
        std::uint64_t placed = 0;  // the number of its last placement here
        std::string fingerprint;   // of names, sizes and times when it arrived
    };

    // A copy of a tree, and its fingerprint from before any task used it.
    struct Copy {
        std::string path;
        std::string fingerprint;
    };
    struct PlacedCopy {
        std::string key;
        std::string fingerprint;
    };

    struct Check {
        TreeReader reader;
        std::string fingerprint;  // from before it was read
        KeyMaker maker;
        std::uint64_t bytes = 0;
    };

    std::string path_of(const std::string& key) const { return folder_ + "/" + key; }
    bool place_spare(const std::string& key, const std::string& to);
    bool drop_spares(const std::string& key);

    std::string folder_;
    std::map<std::string, Tree> trees_;
    std::map<std::string, Check> checks_;              // unfinished checks
    std::multimap<std::string, Copy> spares_;          // by key: copies that no task uses
    std::map<std::string, PlacedCopy> placed_copies_;  // large copies, by where they were placed
    std::uint64_t placements_ = 0;
    std::uint64_t bytes_ = 0;
};

// The folder of a cache that outlives its worker. Workers that use the same folder at the same time get
// separate parts of it.
class KeptCache {
  public:
    // Takes an unused part of `folder`, or creates one. Each part belongs to one `host`, because locks may be
    // local to a host.
    Trouble take(const std::string& folder, const std::string& host);
    const std::string& path() const { return path_; }  // of the cache; empty: no part was taken

  private:
    std::string path_;
    Descriptor lock_;  // released when the process ends in any way
};

}  // namespace wq::files::trees

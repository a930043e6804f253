// A worker's cache of trees by their content keys, in a folder of its own. What it hands out can change
// nothing in it: where a linked file was written to all the same, the tree is noticed by fresh() and dropped.
//
// A tree comes in under a temporary name, and has its key as its name once all of it is there and its bytes
// have that key: so the folder may outlive a SIGKILL, and be taken up by another worker (keep-cache), which
// makes the key of each tree anew before it trusts it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "files/content_key.h"
#include "files/copy_tree.h"
#include "files/problem.h"
#include "files/tree_reader.h"
#include "files/tree_writer.h"

namespace wq::files {

class Cache {
  public:
    // `folder` is made if missing; trees of an earlier worker are taken up, what it had half is removed.
    explicit Cache(std::string folder);

    Trouble open();

    bool has(const std::string& key);
    // Reads the next few megabytes of a tree of an earlier worker, whose key is not made yet. True: there are
    // more to read before has() answers at once.
    bool check_some(const std::string& key);

    // A tree on its way in: the bytes of its stream, cut anywhere.
    class Incoming {
      public:
        Incoming(Cache& cache, std::string key);
        Trouble write(std::string_view bytes);
        // All was written. A stream of another key is refused.
        Trouble finish();

      private:
        Cache& cache_;
        std::string key_;
        KeyMaker maker_;
        TreeWriter writer_;
        std::uint64_t stream_bytes_ = 0;
    };

    // The tree `key`, which must be there, as `to` in a sandbox.
    Trouble place(const std::string& key, const std::string& to, Sharing sharing);
    // The task is over: a large copy at `at`, where place() has put it, is the next one's if nobody has
    // written to it.
    void take_back(const std::string& at);
    // Whether nobody has written to it; else it is dropped.
    bool fresh(const std::string& key);
    void drop(const std::string& key);
    // The disk is full: drops copies that wait for a task, or else half of the trees, those that were not
    // placed for longest. False: there is none.
    bool make_room();

    std::uint64_t bytes() const { return bytes_; }  // of the streams of what is there

  private:
    struct Tree {
        std::uint64_t bytes = 0;
        bool trusted = true;       // its key was made by this process
        std::uint64_t placed = 0;  // the number of its last placement here
        std::string fingerprint;   // of names, sizes and times, as they were when it came
    };

    // A copy of a tree, and what it looked like, by its path, when nobody had touched it.
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
    std::map<std::string, Check> checks_;              // that were begun
    std::multimap<std::string, Copy> spares_;          // by key: copies that no task has
    std::map<std::string, PlacedCopy> placed_copies_;  // large copies, by where they were placed
    std::uint64_t placements_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace wq::files

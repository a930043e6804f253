// Measures the disk usage below folders: the blocks of files and folders, each file once even if it has
// several names.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
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
    using FileIdentity = std::pair<dev_t, ino_t>;
    struct Level {  // a folder on the path to the current one
        FileIdentity place;
        std::string name;                // name in its parent; for the first: its path
        bool read = false;               // completely
        std::vector<std::string> below;  // its folders that are still to be visited
    };
    struct CloseFolder {
        void operator()(DIR* folder) const { closedir(folder); }
    };
    using Folder = std::unique_ptr<DIR, CloseFolder>;

    static Folder open(int in, const char* name, int flags, FileIdentity& place);
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
    std::set<FileIdentity> named_again_;
    int turns_ = 0;
};

// Measures tasks' disk usage in a separate low-priority process that uses little of a core, because there may
// be a million files. It is a process, not a thread, because launchers fork. A task with many files takes
// many turns, and other tasks get turns in between.
class DiskMeter {
  public:
    bool busy() const { return busy_; }
    bool running() const { return socket_.valid(); }
    // Readable when there is an answer, or the process is gone.
    int descriptor() const { return socket_.get(); }

    // Starts the process, which ends with us. Returns its pid, or -1 if it cannot be forked.
    pid_t start();
    // Starts or continues the walk with this number, for one turn. `folders`: absolute.
    void ask(std::uint64_t number, const std::vector<std::string>& folders, Instant now);
    // Drops the walk: it is no longer needed, or must start again.
    void forget(std::uint64_t number);

    struct Answer {
        std::uint64_t number = 0;
        DiskUse use;  // so far
        bool whole = false;
        bool in_one_turn = false;  // else files moved between turns may count twice
    };
    // nullopt if there is none yet, or the process is gone and no longer running().
    std::optional<Answer> answer();

    // When a pending answer is late: the process was stopped, or a file system does not respond.
    std::optional<Instant> late_at() const;
    // Kills the process, and returns the number of its current walk. It is no longer running().
    std::uint64_t give_up();

  private:
    bool send_request(std::uint64_t number, const std::string& folders);
    void gone();

    Descriptor socket_;
    pid_t pid_ = 0;
    bool busy_ = false;
    std::uint64_t asked_ = 0;
    Instant asked_at_{};
    std::set<std::uint64_t> begun_;  // unfinished walks
};

}  // namespace wq::node::usage

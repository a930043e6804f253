// Measures tasks' disk usage in a separate low-priority process that uses little of a core, because there may
// be a million files. It is a process, not a thread, because launchers fork. A task with many files takes
// many turns, and other tasks get turns in between.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"
#include "node/usage/disk_use.h"

namespace wq::node::usage {

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

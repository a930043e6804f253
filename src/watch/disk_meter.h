// Looks at what tasks have on disk in a process of its own, of low priority, that takes little of a core:
// there may be a million files. Of a process, not of a thread, since launchers fork. A task with many files
// takes many turns, and others have theirs between them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"
#include "watch/disk_use.h"

namespace wq::watch {

class DiskMeter {
  public:
    bool busy() const { return busy_; }
    bool running() const { return socket_.valid(); }
    // Readable when there is an answer, or it is gone.
    int descriptor() const { return socket_.get(); }

    // A child of ours until we end. The pid, or -1: none can be forked.
    pid_t start();
    // The walk of this number has a turn: begins, or goes on. `folders`: absolute.
    void ask(std::uint64_t number, const std::vector<std::string>& folders, Instant now);
    // None will ask for it any more, or it is to begin anew.
    void forget(std::uint64_t number);

    struct Answer {
        std::uint64_t number = 0;
        DiskUse use;  // so far
        bool whole = false;
        bool in_one_turn = false;  // else what was moved between them may count twice
    };
    // Nothing: there is none yet, or it is gone and not running() any more.
    std::optional<Answer> answer();

    // It was asked and does not answer until then: stopped, or held by a file system that does not answer.
    std::optional<Instant> late_at() const;
    // Whose walk that was. It is killed, and not running() any more.
    std::uint64_t give_up();

  private:
    bool send_request(std::uint64_t number, const std::string& folders);
    void gone();

    Descriptor socket_;
    pid_t pid_ = 0;
    bool busy_ = false;
    std::uint64_t asked_ = 0;
    Instant asked_at_{};
    std::set<std::uint64_t> begun_;  // walks that it has not ended
};

}  // namespace wq::watch

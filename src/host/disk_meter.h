// Looks at what tasks have on disk in a process of its own, of low priority, that takes little of a core:
// there may be a million files. Of a process, not of a thread, since launchers fork.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "host/disk_use.h"

namespace wq::host {

class DiskMeter {
  public:
    bool busy() const { return busy_; }
    bool running() const { return socket_.valid(); }
    // Readable when there is an answer, or it is gone.
    int descriptor() const { return socket_.get(); }

    // A child of ours until we end. The pid, or -1: none can be forked.
    pid_t start();
    // `folders`: absolute. It stops where it has found more than `enough_bytes` (0: looks at all).
    void ask(std::uint64_t number, const std::vector<std::string>& folders, std::int64_t enough_bytes);

    struct Answer {
        std::uint64_t number = 0;
        DiskUse use;
    };
    // Nothing: there is none yet, or it is gone and not running() any more.
    std::optional<Answer> answer();

  private:
    void gone();

    Descriptor socket_;
    bool busy_ = false;
};

}  // namespace wq::host

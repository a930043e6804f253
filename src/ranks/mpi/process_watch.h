// Detects the end of processes of this machine at once, by pidfd, without their help.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/descriptor.h"

namespace wq::ranks::mpi {

// Identifies this process on its machine; valid between processes of one PID namespace.
struct ProcessAddress {
    pid_t pid = 0;
    std::uint64_t pid_namespace = 0;
    bool operator==(const ProcessAddress&) const = default;
};
ProcessAddress own_process_address();

class ProcessWatch {
  public:
    ProcessWatch();
    ~ProcessWatch();
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;

    // False if it cannot be watched: another PID namespace, no descriptor left, or a kernel before 5.3. A
    // process that is gone already counts as watched and is returned by ended().
    bool add(std::uint32_t key, const ProcessAddress& process);
    void remove(std::uint32_t key);

    // Keys of the processes that ended since the last call; they are not watched any more. Never waits.
    std::vector<std::uint32_t> ended();

    // Readable when ended() returns something; -1 if nothing can be watched.
    int descriptor() const { return epoll_; }
    std::size_t watched() const { return pidfds_.size(); }

  private:
    int epoll_ = -1;
    std::map<std::uint32_t, Descriptor> pidfds_;
    std::vector<std::uint32_t> already_gone_;
    ProcessAddress self_;
};

}  // namespace wq::ranks::mpi

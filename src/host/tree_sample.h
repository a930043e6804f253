// The processes of a task as /proc shows them: what each of them takes, by as few system calls as do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "host/process_tree.h"

namespace wq::host {

// CPU time and bytes are of it and of all children that it has waited for, as the kernel counts them: the sum
// over a tree misses nothing but children that their parent chose not to wait for.
struct ProcessSample {
    pid_t pid = 0;
    std::uint64_t began = 0;  // in ticks since the machine's start: a pid may be given again
    bool ended = false;       // a zombie
    bool one_thread = true;
    std::int64_t cpu_us = 0;
    std::int64_t waited_cpu_us = 0;  // of that, the children's
    std::int64_t resident_kb = 0;
    std::int64_t virtual_kb = 0;
    std::int64_t bytes_read = 0;
    std::int64_t bytes_written = 0;
    std::vector<std::uint64_t> sockets{};  // their inodes, of tree() alone
};

class TreeReader {
  public:
    TreeReader();

    // Of one process; nothing: it is gone. Its bytes are read where `with_bytes` says so.
    std::optional<ProcessSample> one(pid_t pid, bool with_bytes = true);

    // Its bytes alone.
    ProcessSample bytes_of(pid_t pid) const;

    // For trees that are read at about the same time.
    void begin_pass() { children_.renew(); }
    // All that live at and below `roots`, parents before children: a child that is waited for meanwhile may
    // be missed until the next time, and is never counted twice. `before`: what was read the last time; who
    // has not run since has read and written nothing, and opened no socket.
    std::vector<ProcessSample> tree(const std::vector<pid_t>& roots,
                                    const std::vector<ProcessSample>& before);

    std::int64_t swapped_kb(pid_t pid) const;

  private:
    std::size_t slurp(pid_t pid, const char* what, char* buffer, std::size_t size) const;
    void read_bytes(ProcessSample& sample) const;
    void find_sockets(ProcessSample& sample) const;

    Descriptor proc_;
    ChildLists children_;
    std::int64_t tick_us_;
    std::int64_t page_kb_;
};

}  // namespace wq::host

// Reads the usage of a task's processes from /proc, with as few system calls as possible.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "node/process/process_tree.h"

namespace wq::node::usage {

// CPU time and bytes include all children that the process has reaped, as the kernel counts them. So the sum
// over a tree misses only children whose parent chose not to reap them.
struct ProcessSample {
    pid_t pid = 0;
    std::uint64_t began = 0;  // in ticks since boot; needed because pids are reused
    bool ended = false;       // a zombie
    // State D, of its first thread: it waits for a disk or a file server.
    bool waits_for_disk = false;
    process::ChildLists::Forkers forkers = process::ChildLists::Forkers::only_thread;
    std::int64_t cpu_us = 0;
    std::int64_t waited_cpu_us = 0;  // the children's part of it
    std::int64_t resident_kb = 0;
    std::int64_t virtual_kb = 0;
    std::int64_t bytes_read = 0;
    std::int64_t bytes_written = 0;
    bool bytes_told = true;   // some kernels show ended processes' bytes only to root (seen: Linux 6.18)
    std::int64_t faults = 0;  // page faults
    std::vector<std::uint64_t> sockets{};  // their inodes; only from tree()
    int old = 0;                           // how often tree() has reused older bytes and sockets
};

// Finds processes in samples, of which there may be many thousands. The samples must not change.
class SamplesByPid {
  public:
    explicit SamplesByPid(const std::vector<ProcessSample>& samples);
    // The same process, not a later one with its pid; null if there is none.
    const ProcessSample* find(const ProcessSample& which) const;

  private:
    std::vector<const ProcessSample*> sorted_;
};

class ProcessTreeReader {
  public:
    // `proc`: only tests have another one.
    explicit ProcessTreeReader(const char* proc = "/proc");

    // A sample of one process; nullopt if it is gone.
    std::optional<ProcessSample> one(pid_t pid) const;

    // Called before reading several trees at about the same time.
    void begin_pass() { children_.renew(); }
    // All processes at and below `roots`, parents before children. A child that is reaped meanwhile may be
    // missed until the next sample, but is never counted twice. `before`: the last sample. If a process shows
    // no sign that it has run since, its bytes and sockets are taken from there; they are read again after a
    // few samples, because it may have run for less than a tick.
    std::vector<ProcessSample> tree(const std::vector<pid_t>& roots,
                                    const std::vector<ProcessSample>& before);

    std::int64_t swapped_kb(pid_t pid) const;
    // Resident pages that belong to no file and no named shared memory: its own, and those shared by forking.
    std::int64_t anonymous_kb(pid_t pid) const;

  private:
    std::size_t slurp(pid_t pid, const char* what, char* buffer, std::size_t size) const;
    std::optional<ProcessSample> without_bytes(pid_t pid) const;
    void read_bytes(ProcessSample& sample) const;
    void find_sockets(ProcessSample& sample) const;

    Descriptor proc_;
    process::ChildLists children_;
    std::int64_t tick_us_;
    std::int64_t page_kb_;
};

}  // namespace wq::node::usage

// The processes of a task as /proc shows them: what each of them takes, by as few system calls as do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "process/process_tree.h"

namespace wq::watch {

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
    bool bytes_told = true;   // of one that has ended some kernels tell root alone (seen: Linux 6.18)
    std::int64_t faults = 0;  // of pages
    std::vector<std::uint64_t> sockets{};  // their inodes, of tree() alone
    int old = 0;  // so many times bytes and sockets were taken over from the time before, by tree()
};

// Finds a process again among samples, of which there may be many thousands; they must stay as they are.
class SamplesByPid {
  public:
    explicit SamplesByPid(const std::vector<ProcessSample>& samples);
    // The same process: not one that was given its pid since. Null: it is not among them.
    const ProcessSample* find(const ProcessSample& which) const;

  private:
    std::vector<const ProcessSample*> sorted_;
};

class TreeReader {
  public:
    TreeReader();

    // Of one process; nothing: it is gone. Its bytes are read where `with_bytes` says so.
    std::optional<ProcessSample> one(pid_t pid, bool with_bytes = true);

    // For trees that are read at about the same time.
    void begin_pass() { children_.renew(); }
    // All that live at and below `roots`, parents before children: a child that is waited for meanwhile may
    // be missed until the next time, and is never counted twice. `before`: what was read the last time: bytes
    // and sockets are taken from there for who shows no sign that it has run since, and are read again after
    // a few times, as it may have run for less than the kernel counts in ticks.
    std::vector<ProcessSample> tree(const std::vector<pid_t>& roots,
                                    const std::vector<ProcessSample>& before);

    std::int64_t swapped_kb(pid_t pid) const;
    // Resident pages of no file, nor of memory that is shared by name: of it and those it was forked from.
    std::int64_t anonymous_kb(pid_t pid) const;

  private:
    std::size_t slurp(pid_t pid, const char* what, char* buffer, std::size_t size) const;
    void read_bytes(ProcessSample& sample) const;
    void find_sockets(ProcessSample& sample) const;

    Descriptor proc_;
    process::ChildLists children_;
    std::int64_t tick_us_;
    std::int64_t page_kb_;
};

}  // namespace wq::watch

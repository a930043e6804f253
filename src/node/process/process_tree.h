// Reads from /proc which process descends from which. Results may be outdated at once, because processes
// start and end meanwhile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"

namespace wq::node::process {

// The children that the main thread of this process started, and the orphans that it adopted as a subreaper.
// Children of its other threads are found only if /proc is scanned.
class OwnChildren {
  public:
    enum class From : std::uint8_t { kernels_list, scan };  // kernels_list falls back to scan
    explicit OwnChildren(From from = From::kernels_list);
    // If the kernel keeps a list (CONFIG_PROC_CHILDREN), list() costs one pread. Otherwise it scans /proc,
    // which takes about a millisecond per hundred processes of the machine.
    bool cheap() const { return file_.valid(); }
    const std::vector<pid_t>& list();

  private:
    Descriptor file_;
    std::string buffer_;
    std::vector<pid_t> pids_;
};

// The children of any process. If the kernel keeps no lists, one scan of /proc serves all queries until
// renew().
class ChildLists {
  public:
    void renew() { scanned_.reset(); }
    // `forkers`: which threads of the process could have forked.
    enum class Forkers : std::uint8_t { only_thread, any_thread };
    void append(pid_t pid, Forkers forkers, std::vector<pid_t>& to);

  private:
    std::optional<std::unordered_multimap<pid_t, pid_t>> scanned_;  // parent -> child
};

// All descendants of `pid`, without `pid` itself.
std::vector<pid_t> descendants_of(pid_t pid);

struct ProcessFacts {
    pid_t parent = 0;
    pid_t group = 0;
    pid_t session = 0;
    std::uint64_t began = 0;  // in ticks since boot; needed because pids are reused
};
std::optional<ProcessFacts> facts_of(pid_t pid);
// How long the process has run, with the time in which the machine slept; nullopt: it is gone.
std::optional<Duration> age_of(pid_t pid);

// The value of `name` in the environment that the process was started with.
std::optional<std::string> environment_of(pid_t pid, std::string_view name);

// Resident memory of a process in KiB, with shared memory counted in full; and its proportional memory (PSS),
// which costs a walk over its mappings. 0: the process is gone.
std::int64_t resident_kb(pid_t pid);
std::int64_t proportional_kb(pid_t pid);

// Sends a signal to a process and all its descendants.
void signal_tree(pid_t pid, int signal);

// For a subreaper: kills and reaps all children and all that they leave behind, until none is left or
// `limit_ms` has passed; but not children that are `spared`, with what these started. True if none is left.
bool end_all_children(int limit_ms, const std::vector<pid_t>& spared = {});
inline constexpr int kill_limit_ms = 5000;  // how long a launcher waits for them

}  // namespace wq::node::process

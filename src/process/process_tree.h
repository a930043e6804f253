// Who descends from whom, read from /proc. Answers are of the moment: processes come and go meanwhile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/descriptor.h"

namespace wq::process {

// The children of this process, orphans that a subreaper was given among them.
class OwnChildren {
  public:
    enum class From : std::uint8_t { kernels_list, scan };  // the former falls back to the latter
    explicit OwnChildren(From from = From::kernels_list);
    // The kernel keeps a list (CONFIG_PROC_CHILDREN): list() is one pread. Else it is a scan of /proc, about
    // a millisecond per hundred processes of the machine.
    bool cheap() const { return file_.valid(); }
    const std::vector<pid_t>& list();

  private:
    Descriptor file_;
    std::string buffer_;
    std::vector<pid_t> pids_;
};

// The children of any process. Where the kernel keeps no lists, all of /proc is scanned once for all that is
// asked until renew().
class ChildLists {
  public:
    void renew() { scanned_.reset(); }
    // `one_thread`: the process is known to have no other, which may have forked.
    void append(pid_t pid, bool one_thread, std::vector<pid_t>& to);

  private:
    std::optional<std::unordered_multimap<pid_t, pid_t>> scanned_;  // parent -> child
};

// All below `pid`, not itself.
std::vector<pid_t> descendants_of(pid_t pid);

struct ProcessFacts {
    pid_t parent = 0;
    pid_t group = 0;
    pid_t session = 0;
    std::uint64_t began = 0;  // in ticks since the machine's start: a pid may be given again
};
std::optional<ProcessFacts> facts_of(pid_t pid);

// The value of `name` in the environment that the process was started with.
std::optional<std::string> environment_of(pid_t pid, std::string_view name);

// Resident memory of a process in KiB, what it shares with others counted whole; and the share that is fairly
// its own (PSS), which costs a walk over its mappings. 0: gone.
std::int64_t resident_kb(pid_t pid);
std::int64_t proportional_kb(pid_t pid);

// Kills (or signals) a process and all below it.
void signal_tree(pid_t pid, int signal);

// For a subreaper that wants no child left: kills all children and what they leave behind, and reaps them,
// until none is left or `limit_ms` is over. True when none is left.
bool end_all_children(int limit_ms);
inline constexpr int kill_limit_ms = 5000;  // how long a launcher waits for them

}  // namespace wq::process

// Which line a worker runs next, as a pure function of the list; the rules are those of DistributedTaskQueue.
//
// From the top: a `#!` line below the worker's last line is next. A line that waits is next if its `#@` allow
// the worker, its groups are free, and the worker has not tried it; if it is above the worker's last line,
// the last `#!` line above it is run once more before it.
//
// A group is blocked by lines above that are not `#ok`: `#:g` waits for all lines of g, `#+g` for `#:g`.
// Every line is also `#+` of the group "", so that `#:` is a barrier, with a command or alone. `#!` lines
// wait, but nothing waits for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shared_list/text/document.h"

namespace wq::shared_list::text {

struct Choice {
    std::uint64_t number = 0;  // of the line, from 1
    bool environment = false;  // `#!`: it is not marked
    std::uint64_t replay = 0;  // number of the `#!` line to run before it; 0: none
    bool operator==(const Choice&) const = default;
};

// `last`: number of the line that the worker ran last; 0: none. `ends`: made together with the choice, so
// that what waited for these lines may be chosen.
std::optional<Choice> choose(const Document& list, WorkerId worker, std::uint64_t last,
                             std::span<const End> ends = {});

// The `#!` line to run before this line: the last one above it that applies to the worker, if the line is
// above `last`; 0: none.
std::uint64_t replayed_before(const Document& list, WorkerId worker, std::uint64_t number,
                              std::uint64_t last);

// Whether a worker's try of the line has ended. One that was lost is none: nobody knows how it would have
// ended.
bool has_tried(const MarkedLine& line, WorkerId worker);

// Why choose() found nothing, for one that waits or leaves.
struct Waiting {
    std::uint64_t running = 0;  // lines that run
    std::uint64_t blocked = 0;  // lines that this worker could run, but for their groups
    std::uint64_t others = 0;   // lines that `#@` gives to other workers
    std::uint64_t tried = 0;    // lines that failed on this worker and wait for others
    // The first blocked line, its group, and the line above that blocks it; 0: none.
    std::uint64_t first_blocked = 0;
    std::uint64_t blocked_by = 0;
    std::string group;
    // `blocked` while lines run, whose ends may free them; else 0.
    std::uint64_t may_become_free = 0;
};
Waiting why_waiting(const Document& list, WorkerId worker);

// The first line that waits and has a `#@` that is no number of a worker; 0: none.
std::uint64_t first_misaddressed(const Document& list);
inline constexpr const char* misaddressed_text = "a '#@' needs the number of a worker, such as #@2";

// Open lines that their groups block, each with the first line that does, and in which group ("": a barrier).
struct BlockedBy {
    std::uint64_t by = 0;
    std::string group;
};
std::map<std::uint64_t, BlockedBy> blocked_lines(const Document& list);

}  // namespace wq::shared_list::text

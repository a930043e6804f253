// What the core knows of a task. Its text is not among it: text stays in the task table of app/.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/resources.h"

namespace wq::core {

// A worker has a feature of this name for each of its functions, and a call asks for it.
inline constexpr std::string_view function_feature = "function:";
// Of a worker over TCP; names without the prefix.
inline constexpr std::size_t most_features = 1000;
inline constexpr std::size_t most_functions = 10'000;
inline constexpr std::size_t longest_feature = 255;

// What a run of tasks has in common. Tasks of equal shape share one Shape and can be sealed into one batch.
struct Shape {
    Needs needs;
    Duration timeout{0};        // wall time of one attempt; 0: none
    Duration min_time{0};       // not started on a worker that has less time left; 0: unknown
    std::uint32_t retries = 0;  // attempts beyond the first for a task that fails by itself
    CategoryId category{0};
    double priority = 0;                   // higher ones first; among equals in order of submission
    std::vector<std::string> features;     // only on workers that have all of them
    std::optional<WallMicros> not_before;  // wall clock: not started earlier
    std::optional<WallMicros> not_after;   // wall clock: expires, or is killed, then
    // Tried so often, and each time lost with its worker, out of what it was given or too slow, it has
    // failed; 0: lost so often as ReactorOptions::max_losses says.
    std::uint32_t max_tries = 0;
    std::vector<WorkerId> workers;  // `#@i`: the only workers it may run on; empty: any
    // Tasks of different kinds are not sealed together: each long range of calls is one, so that its batch
    // travels as a template. 0: none.
    std::uint64_t kind = 0;
    bool leased_only = false;  // not sealed: a ticket is a text, and it has files
    bool measured = false;     // its tree is sampled, whatever holds for all
    // It took more than it was first given, and gets the most that its category allows; of what that does not
    // bound, at least so much.
    bool at_maximum = false;
    Needs at_least;
    bool unstoppable = false;  // a call without a process of its own: once begun, nobody can end it
    auto operator<=>(const Shape&) const = default;
};

// Memberships of one task in groups (see groups.h): `#:name` sequential, `#+name` parallel.
struct GroupTag {
    std::uint32_t group = 0;  // index into the run's group names; 0 is the empty name
    bool sequential = false;
    bool operator==(const GroupTag&) const = default;
};

// Everything that decides about a task, in the order of the list, as one half-open range of ids. A plain list
// of a million lines is one Range; a line with tags of its own is a Range of one.
struct TaskRange {
    TaskId first;
    std::uint64_t count = 1;
    Shape shape;
    std::vector<GroupTag> groups;  // besides the implicit parallel membership in group 0
};

}  // namespace wq::core

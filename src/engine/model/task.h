// What the core knows of a task. The command's text is not part of it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/model/resources.h"

namespace wq::engine::model {

// A worker announces a feature with this prefix for each of its functions; a call requires it.
inline constexpr std::string_view function_feature = "function:";
// And one with this prefix for the coprocesses that run remote tasks.
inline constexpr std::string_view coprocess_feature = "coprocess:";
inline constexpr std::string_view coprocess_feature_of_cctools = "wq_worker_coprocess:";
// And one with this prefix for the factory that started it, so that tasks can require its workers.
inline constexpr std::string_view factory_feature = "factory:";
// Per TCP worker; names without the prefix.
inline constexpr std::size_t most_features = 1000;
inline constexpr std::size_t most_functions = 10'000;
inline constexpr std::size_t longest_feature = 255;

// Common properties of tasks. Tasks of equal shape share one Shape and can be sealed into one batch.
struct Shape {
    Needs needs;
    Duration timeout{0};        // wall time of one attempt; 0: none
    Duration min_time{0};       // a worker with less time left does not start it; 0: unknown
    std::uint32_t retries = 0;  // attempts beyond the first if the task itself fails
    CategoryId category{0};
    double priority = 0;                   // higher first; among equals, in order of submission
    std::vector<std::string> features;     // its worker must have all of them
    std::optional<WallMicros> not_before;  // wall clock: does not start earlier
    std::optional<WallMicros> not_after;   // wall clock: expires or is killed then
    // Limit of attempts that were lost with their worker, exceeded their allocation or were too slow; then
    // the task has failed. 0: the limit of losses is attempts::ReactorOptions::max_losses.
    std::uint32_t max_tries = 0;
    std::vector<WorkerId> workers;  // `#@i`: it may run only on these; empty: on any
    // Tasks of different kinds are never sealed together: each long range of calls is one kind, so that its
    // batch travels as a template. 0: none.
    std::uint64_t kind = 0;
    bool leased_only = false;  // never sealed: tickets carry only text, and it has files
    bool large = false;        // never sealed: it would not fit among the tickets of a node
    bool measured = false;     // its process tree is sampled, whatever the run's setting
    // It exceeded its first allocation, and gets its category's maximum; for resources without a maximum, at
    // least this much.
    bool at_maximum = false;
    Needs at_least;
    bool unstoppable = false;  // a call without its own process: nobody can kill it once it started
    auto operator<=>(const Shape&) const = default;
};

// Tasks that differ only in priority, times and the limit of tries have the same one.
using ShapeId = Id<struct ShapeTag, std::uint32_t>;

// A task's membership in a group (see groups.h): `#:name` sequential, `#+name` parallel.
struct GroupTag {
    std::uint32_t group = 0;  // index into the run's group names; 0 is the empty name
    bool sequential = false;
    bool operator==(const GroupTag&) const = default;
};

// Consecutive tasks of the list with equal properties, as one half-open range of ids. A plain list of a
// million lines is one range; a line with tags is a range of one.
struct TaskRange {
    TaskId first;
    std::uint64_t count = 1;
    Shape shape;
    std::vector<GroupTag> groups;  // besides the implicit parallel membership in group 0
};

}  // namespace wq::engine::model

// Typed ids: a TaskId is not a WorkerId, and neither is a count.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace wq {

template <class Tag, class Rep>
class Id {
  public:
    using rep = Rep;
    constexpr Id() = default;
    constexpr explicit Id(Rep value) : value_(value) {}
    constexpr Rep value() const { return value_; }
    constexpr auto operator<=>(const Id&) const = default;

  private:
    Rep value_ = 0;
};

// A task's place in the run: 0 is the first task line of the list. Dense, in order of submission.
using TaskId = Id<struct TaskTag, std::uint64_t>;
// A worker of the run. An MPI rank's worker id is its rank.
using WorkerId = Id<struct WorkerTag, std::uint32_t>;
// Used in records if the worker is not known.
inline constexpr WorkerId unknown_worker{0xffff'ffff};
// A sealed sequence of tasks that is claimed by ticket.
using BatchId = Id<struct BatchTag, std::uint32_t>;
// Index into the table of categories; 0 is "default".
using CategoryId = Id<struct CategoryTag, std::uint32_t>;

// The attempt of a task, from 1. Every message about a task carries it; a wrong one is stale.
using Attempt = std::uint32_t;

}  // namespace wq

template <class Tag, class Rep>
struct std::hash<wq::Id<Tag, Rep>> {
    std::size_t operator()(wq::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};

// Why tasks wait, as classes: all tasks that ask for the same wait for the same reason, or for their turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/model/task.h"

namespace wq::engine::model {

// X(name, meaning)
#define WQ_WAIT_REASONS(X)                                                               \
    X(tasks, "for earlier tasks: a group or a barrier")                                  \
    X(start_time, "for the time at which they may start")                                \
    X(limit, "as many tasks run as may run at once, of the run or of their category")    \
    X(busy, "for a worker with room")                                                    \
    X(no_worker, "no worker is connected, or fewer than the run waits for")              \
    X(nowhere, "no worker that is connected could hold them")                            \
    X(hosts, "the workers that could hold them get no tasks: excluded, leaving or gone") \
    X(storage, "results cannot be written: nothing is dispatched")                       \
    X(stopping, "the run is being stopped")                                              \
    X(program, "no task waits, and the list or the program may bring more")

enum class WaitReason : std::uint8_t {
#define WQ_REASON(name, meaning) name,
    WQ_WAIT_REASONS(WQ_REASON)
#undef WQ_REASON
};
constexpr WaitReason last_of(WaitReason) {
    return WaitReason::program;
}
inline constexpr std::size_t wait_reason_count = static_cast<std::size_t>(last_of(WaitReason{})) + 1;
inline const char* name_of(WaitReason reason) {
#define WQ_NAME(name, meaning) \
    if (reason == WaitReason::name) return #name;
    WQ_WAIT_REASONS(WQ_NAME)
#undef WQ_NAME
    return "unknown";
}
inline const char* meaning_of(WaitReason reason) {
#define WQ_MEANING(name, meaning) \
    if (reason == WaitReason::name) return meaning;
    WQ_WAIT_REASONS(WQ_MEANING)
#undef WQ_MEANING
    return "unknown";
}

// Tasks of one shape that wait for one reason.
struct WaitingTasks {
    std::optional<ShapeId> shape;  // nullopt: of any shape, such as tasks that wait for earlier ones
    WaitReason reason = WaitReason::busy;
    std::uint64_t tasks = 0;  // with WaitReason::program: 1
    bool operator==(const WaitingTasks&) const = default;
};

}  // namespace wq::engine::model

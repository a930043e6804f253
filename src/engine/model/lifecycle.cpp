#include "engine/model/lifecycle.h"

#include <array>

namespace wq::engine::model {

namespace {

using S = TaskState;
using E = TaskEvent;

struct Arrow {
    TaskState from;
    TaskEvent event;
    TaskState to;
};

constexpr std::array arrows{
    Arrow{S::blocked, E::unblock, S::ready},    Arrow{S::blocked, E::skip, S::skipped},
    Arrow{S::blocked, E::resume_done, S::done}, Arrow{S::blocked, E::resume_failed, S::failed},
    Arrow{S::ready, E::lease, S::leased},       Arrow{S::ready, E::seal, S::sealed},
    Arrow{S::ready, E::skip, S::skipped},       Arrow{S::leased, E::succeed, S::done},
    Arrow{S::leased, E::fail, S::failed},       Arrow{S::leased, E::retry, S::ready},
    Arrow{S::leased, E::give_back, S::ready},   Arrow{S::leased, E::lose, S::ready},
    Arrow{S::sealed, E::succeed, S::done},      Arrow{S::sealed, E::fail, S::failed},
    Arrow{S::sealed, E::retry, S::ready},       Arrow{S::sealed, E::give_back, S::ready},
    Arrow{S::sealed, E::lose, S::ready},        Arrow{S::blocked, E::cancel, S::cancelled},
    Arrow{S::ready, E::cancel, S::cancelled},   Arrow{S::leased, E::cancel, S::cancelled},
    Arrow{S::sealed, E::cancel, S::cancelled},  Arrow{S::blocked, E::expire, S::failed},
    Arrow{S::ready, E::expire, S::failed},      Arrow{S::leased, E::exhaust, S::ready},
    Arrow{S::sealed, E::exhaust, S::ready},     Arrow{S::leased, E::abort, S::ready},
};

constexpr auto make_table() {
    std::array<std::array<std::int8_t, task_event_count>, task_state_count> table{};
    for (auto& row : table) row.fill(-1);
    for (const Arrow& arrow : arrows)
        table[static_cast<std::size_t>(arrow.from)][static_cast<std::size_t>(arrow.event)] =
            static_cast<std::int8_t>(arrow.to);
    return table;
}
constexpr auto table = make_table();

}  // namespace

std::optional<TaskState> next_state(TaskState state, TaskEvent event) {
    const std::int8_t to = table[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
    if (to < 0) return std::nullopt;
    return static_cast<TaskState>(to);
}

const char* name_of(TaskState state) {
    constexpr std::array names{"blocked", "ready",  "leased",  "sealed",
                               "done",    "failed", "skipped", "cancelled"};
    static_assert(names.size() == task_state_count);
    return names[static_cast<std::size_t>(state)];
}

const char* name_of(TaskEvent event) {
    constexpr std::array names{"unblock", "lease",       "seal",          "succeed", "fail",
                               "retry",   "give_back",   "lose",          "exhaust", "abort",
                               "skip",    "resume_done", "resume_failed", "cancel",  "expire"};
    static_assert(names.size() == task_event_count);
    return names[static_cast<std::size_t>(event)];
}

std::string diagram() {
    std::string text = "digraph task {\n  rankdir=LR;\n";
    for (int state = 0; state < task_state_count; ++state) {
        const auto value = static_cast<TaskState>(state);
        text += std::string("  ") + name_of(value) +
                (is_final(value) ? " [shape=doublecircle];\n" : " [shape=circle];\n");
    }
    for (const Arrow& arrow : arrows)
        text += std::string("  ") + name_of(arrow.from) + " -> " + name_of(arrow.to) + " [label=\"" +
                name_of(arrow.event) + "\"];\n";
    return text + "}\n";
}

}  // namespace wq::engine::model

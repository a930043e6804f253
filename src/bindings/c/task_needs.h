// Common code of all functions that specify a task.
#pragma once

#include "bindings/c/guard.h"
#include "bindings/c/task_box.h"

namespace wq::bindings::c {

// Runs `work(box)` if the task may be specified. Returns 1, else 0.
template <class Work>
int specify(const char* function, work_queue_task* task, const Work& work) noexcept {
    return guarded(function, 0, [&](const char* name) {
        TaskBox* box = task_to_specify(name, task);
        if (box == nullptr) return 0;
        work(*box);
        show_spec(*box);
        return 1;
    });
}

// Same for work that may refuse: it returns the reason, or "".
template <class Work>
int specify_or_refuse(const char* function, work_queue_task* task, const Work& work) noexcept {
    return guarded(function, 0, [&](const char* name) {
        TaskBox* box = task_to_specify(name, task);
        if (box == nullptr) return 0;
        const std::string refusal = work(*box);
        if (refusal.empty()) return 1;
        complain(name, refusal);
        return 0;
    });
}

}  // namespace wq::bindings::c

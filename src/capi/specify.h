// Common code of all functions that specify something of a task.
#pragma once

#include "capi/guard.h"
#include "capi/task_box.h"

namespace wq::capi {

// 1 once `work(box)` was done for a task that may be specified; else 0.
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

// The same for work that may refuse: it returns why, or "".
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

}  // namespace wq::capi

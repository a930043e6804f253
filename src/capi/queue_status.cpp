// The state of a queue as JSON.
#include "program_manager/queue_status.h"

#include <algorithm>
#include <cstring>

#include "api/status_parts.h"
#include "capi/guard.h"
#include "capi/queue.h"

namespace wq::capi {

namespace {

using namespace program_manager;

TaskOfStatus named(const TaskBox& box, std::int64_t managers_id) {
    return {box.taskid, managers_id, TaskState::unknown, &box.spec, {}};
}

std::string of_tasks(const work_queue& queue, const Manager& manager) {
    std::vector<TaskOfStatus> all;
    for (const auto& [id, box] : queue.tasks) {
        all.push_back(named(*box, id));
        all.back().state = manager.task_state(id);
    }
    std::sort(all.begin(), all.end(),
              [](const TaskOfStatus& a, const TaskOfStatus& b) { return a.id < b.id; });
    return tasks_as_json(all, manager.workers());
}

std::string of_workers(const work_queue& queue, const Manager& manager) {
    return workers_as_json(manager.workers(), [&](std::int64_t id) -> std::optional<TaskOfStatus> {
        const auto found = queue.tasks.find(id);
        return found == queue.tasks.end() ? std::nullopt : std::optional(named(*found->second, id));
    });
}

std::string answer_to(const char* request, const work_queue& queue, const Manager& manager) {
    switch (request == nullptr ? StatusOf::queue : status_of(request)) {
        case StatusOf::queue:
            return queue_as_json({queue.options().name, queue.port(), queue.priority, queue.options().ssl},
                                 api::status_parts(manager));
        case StatusOf::tasks:
            return of_tasks(queue, manager);
        case StatusOf::workers:
            return of_workers(queue, manager);
        case StatusOf::categories:
            return categories_as_json(api::status_parts(manager));
        case StatusOf::nothing:
            break;
    }
    return "[]";
}

}  // namespace

}  // namespace wq::capi

char* work_queue_status(work_queue* q, const char* request) {
    return wq::capi::guarded(__func__, static_cast<char*>(nullptr), [&](const char* me) -> char* {
        const wq::Manager* manager = wq::capi::manager_of(me, q);
        if (manager == nullptr) return nullptr;
        return ::strdup(wq::capi::answer_to(request, *q, *manager).c_str());
    });
}

// The state of a queue as JSON.
#include "program_manager/queue_status.h"

#include <algorithm>
#include <cstring>

#include "capi/guard.h"
#include "capi/queue.h"

namespace wq::capi {

namespace {

using namespace program_manager;

std::string of_queue(const work_queue& queue, const Manager& manager) {
    return queue_as_json({queue.options().name, queue.port(), queue.priority}, manager.stats());
}

std::string of_tasks(const work_queue& queue, const Manager& manager) {
    std::vector<TaskOfStatus> all;
    for (const auto& [id, box] : queue.tasks)
        all.push_back({box->taskid, manager.task_state(id), &box->spec, {}});
    std::sort(all.begin(), all.end(),
              [](const TaskOfStatus& a, const TaskOfStatus& b) { return a.id < b.id; });
    return tasks_as_json(all);
}

std::string of_categories(const Manager& manager) {
    std::vector<std::pair<CategorySummary, Statistics>> all;
    for (const CategorySummary& one : manager.categories())
        all.emplace_back(one, manager.stats_category(one.name));
    return categories_as_json(all);
}

std::string answer_to(const char* request, const work_queue& queue, const Manager& manager) {
    switch (request == nullptr ? StatusOf::queue : status_of(request)) {
        case StatusOf::queue:
            return of_queue(queue, manager);
        case StatusOf::tasks:
            return of_tasks(queue, manager);
        case StatusOf::workers:
            return workers_as_json(manager.workers());
        case StatusOf::categories:
            return of_categories(manager);
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

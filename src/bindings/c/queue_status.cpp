// The state of a queue as JSON.
#include <cstring>

#include "api/status_parts.h"
#include "bindings/c/guard.h"
#include "bindings/c/queue.h"

namespace wq::capi {

namespace {

std::string answer_to(const char* request, const work_queue& queue, const Manager& manager) {
    const auto what = status::status_of(request == nullptr ? "queue" : request);
    if (!what) return "[]";
    api::TasksOfProgram tasks;
    for (const auto& [id, box] : queue.tasks)
        tasks.emplace_back(id, program_manager::named(box->taskid, TaskAccess::data(box->spec)));
    return api::status_as_json(*what, manager, program_manager::described(queue.options(), queue.port()),
                               std::move(tasks));
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

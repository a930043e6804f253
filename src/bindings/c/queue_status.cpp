// The state of a queue as JSON.
#include <cstring>

#include "api/queue_status.h"
#include "bindings/c/guard.h"
#include "bindings/c/queue.h"

namespace wq::bindings::c {

namespace {

std::string answer_to(const char* request, const work_queue& queue, const Manager& manager) {
    const auto what = manager::status::status_of(request == nullptr ? "queue" : request);
    if (!what) return "[]";
    api::TasksOfProgram tasks;
    for (const auto& [id, box] : queue.tasks)
        tasks.emplace_back(id, api::named(box->taskid, TaskAccess::data(box->spec)));
    return api::status_as_json(*what, manager, api::described(queue.options(), queue.port()),
                               std::move(tasks));
}

}  // namespace

}  // namespace wq::bindings::c

char* work_queue_status(work_queue* q, const char* request) {
    return wq::bindings::c::guarded(__func__, static_cast<char*>(nullptr), [&](const char* me) -> char* {
        const wq::Manager* manager = wq::bindings::c::manager_of(me, q);
        if (manager == nullptr) return nullptr;
        return ::strdup(wq::bindings::c::answer_to(request, *q, *manager).c_str());
    });
}

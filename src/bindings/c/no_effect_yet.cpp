// Functions whose features do not exist (yet): they accept their arguments and say so once.
#include <cstring>
#include <string>

#include "bindings/c/guard.h"
#include "bindings/c/queue.h"

namespace wq::bindings::c {

namespace {

void take(const char* function, const work_queue* q, const char* what) {
    guarded(function, [&](const char* me) {
        if (queue_of(me, q) != nullptr) no_effect(me, what);
    });
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

int wq_option_scheduler = WORK_QUEUE_SCHEDULE_UNSET;

void work_queue_set_bandwidth_limit(work_queue* q, const char*) {
    take(__func__, q, "transfers are not limited");
}
void work_queue_specify_algorithm(work_queue* q, work_queue_schedule_t) {
    take(__func__, q, "a task goes to whichever worker has room first");
}
void work_queue_specify_debug_path(work_queue* q, const char*) {
    take(__func__, q, "there is no log server");
}
void work_queue_specify_tlq_port(work_queue* q, int) {
    take(__func__, q, "there is no log server");
}

// ---- nothing to be done, and nothing to be said ----

void work_queue_invalidate_cached_file(work_queue* q, const char*, work_queue_file_t) {
    queue_of(__func__, q);
}
void work_queue_specify_task_order(work_queue* q, int) {
    queue_of(__func__, q);
}
void work_queue_specify_manager_mode(work_queue* q, int) {
    queue_of(__func__, q);
}
void work_queue_specify_estimate_capacity_on(work_queue* q, int) {
    queue_of(__func__, q);
}
char* work_queue_generate_disk_alloc_full_filename(char* folder, int taskid) {
    if (folder == nullptr) return nullptr;
    return guarded(__func__, static_cast<char*>(nullptr), [&](const char*) {
        return ::strdup((std::string(folder) + "/disk_full." + std::to_string(taskid)).c_str());
    });
}

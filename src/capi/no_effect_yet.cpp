// Functions whose features do not exist (yet): they accept their arguments and say so once.
#include <cstring>
#include <string>
#include <string_view>

#include "capi/guard.h"
#include "capi/queue.h"

namespace wq::capi {

namespace {

void take(const char* function, const work_queue* q, const char* what) {
    guarded(function, [&](const char* me) {
        if (queue_of(me, q) != nullptr) no_effect(me, what);
    });
}

constexpr const char* listing =
    "queues do not announce themselves to catalogs; workers find the queue by its name or port";

}  // namespace

}  // namespace wq::capi

using namespace wq::capi;

int wq_option_scheduler = WORK_QUEUE_SCHEDULE_UNSET;

void work_queue_set_bandwidth_limit(work_queue* q, const char*) {
    take(__func__, q, "transfers are not limited");
}
void work_queue_specify_algorithm(work_queue* q, work_queue_schedule_t) {
    take(__func__, q, "a task goes to whichever worker has room first");
}
void work_queue_specify_catalog_server(work_queue* q, const char*, int) {
    take(__func__, q, listing);
}
void work_queue_specify_catalog_servers(work_queue* q, const char*) {
    take(__func__, q, listing);
}
void work_queue_specify_priority(work_queue* q, int priority) {
    work_queue* queue = queue_of(__func__, q);
    if (queue == nullptr) return;
    queue->priority = priority;
    take(__func__, q, "it only appears in the statistics");
}
void work_queue_specify_num_tasks_left(work_queue* q, int) {
    take(__func__, q, "nothing uses it");
}
void work_queue_manager_preferred_connection(work_queue* q, const char* preferred_connection) {
    const std::string_view wanted = preferred_connection == nullptr ? "" : preferred_connection;
    if (wanted != "by_ip" && wanted != "by_hostname" && wanted != "by_apparent_ip")
        return complain(__func__, "give by_ip, by_hostname or by_apparent_ip");
    take(__func__, q, "workers try all addresses, the likeliest first");
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

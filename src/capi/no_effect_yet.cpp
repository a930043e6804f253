// Functions whose features are not here yet, or never will be: they take what they are given, and say so
// once.
#include <cstring>
#include <string>
#include <string_view>

#include "capi/guard.h"
#include "capi/queue.h"

namespace wq::capi {

namespace {

// 0, which says that nothing was switched on.
int take(const char* function, const work_queue* q, const char* what) {
    return guarded(function, 0, [&](const char* me) {
        if (queue_of(me, q) != nullptr) no_effect(me, what);
        return 0;
    });
}

constexpr const char* monitoring = "tasks are not monitored; what each used is in its resources_measured";
constexpr const char* by_category = "categories have no resources of their own; specify those of each task";
constexpr const char* listing = "there is no catalog; workers find the queue by its name or port";

}  // namespace

}  // namespace wq::capi

using namespace wq::capi;

int wq_option_scheduler = WORK_QUEUE_SCHEDULE_UNSET;

int work_queue_enable_monitoring(work_queue* q, char*, int) {
    return take(__func__, q, monitoring);
}
int work_queue_enable_monitoring_full(work_queue* q, char*, int) {
    return take(__func__, q, monitoring);
}
int work_queue_specify_category_mode(work_queue* q, const char*, work_queue_category_mode_t) {
    return take(__func__, q, by_category);
}
void work_queue_specify_category_max_concurrent(work_queue* q, const char*, int) {
    take(__func__, q, "as many tasks of a category run as fit");
}
int work_queue_enable_category_resource(work_queue* q, const char*, const char*, int) {
    return take(__func__, q, by_category);
}
void work_queue_specify_max_resources(work_queue* q, const rmsummary*) {
    take(__func__, q, by_category);
}
void work_queue_specify_min_resources(work_queue* q, const rmsummary*) {
    take(__func__, q, by_category);
}
void work_queue_specify_category_max_resources(work_queue* q, const char*, const rmsummary*) {
    take(__func__, q, by_category);
}
void work_queue_specify_category_min_resources(work_queue* q, const char*, const rmsummary*) {
    take(__func__, q, by_category);
}
void work_queue_specify_category_first_allocation_guess(work_queue* q, const char*, const rmsummary*) {
    take(__func__, q, by_category);
}
void work_queue_initialize_categories(work_queue* q, rmsummary*, const char*) {
    take(__func__, q, by_category);
}
void work_queue_set_bandwidth_limit(work_queue* q, const char*) {
    take(__func__, q, "transfers are as fast as they can be");
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
    take(__func__, q, "it only stands in the figures, for who reads them");
}
void work_queue_specify_num_tasks_left(work_queue* q, int) {
    take(__func__, q, "nobody reads it");
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

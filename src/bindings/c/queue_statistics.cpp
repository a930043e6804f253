// Statistics of a queue.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "bindings/c/guard.h"
#include "bindings/c/queue.h"
#include "bindings/c/statistics.h"
#include "manager/status/figures.h"

namespace wq::bindings::c {

namespace {

int count(std::int64_t value) {
    return static_cast<int>(std::clamp<std::int64_t>(value, 0, INT_MAX));
}
timestamp_t time(std::int64_t us) {
    return static_cast<timestamp_t>(std::max<std::int64_t>(us, 0));
}

void show_workers(const Statistics& from, work_queue_stats& to) {
    to.workers_connected = to.total_workers_connected = count(from.workers_connected);
    to.workers_init = count(from.workers_init);
    to.workers_idle = to.workers_ready = count(from.workers_idle);
    to.workers_busy = to.workers_full = count(from.workers_busy);
    to.workers_able = count(from.workers_able);
    to.workers_joined = to.total_workers_joined = count(from.workers_joined);
    to.workers_removed = to.total_workers_removed = count(from.workers_removed);
    to.workers_released = count(from.workers_released);
    to.workers_idled_out = to.total_workers_idled_out = count(from.workers_idled_out);
    to.workers_fast_aborted = to.total_workers_fast_aborted = count(from.workers_fast_aborted);
    to.workers_blocked = to.workers_blacklisted = count(from.workers_blocked);
    to.workers_lost = to.total_workers_lost = count(from.workers_lost);
}

void show_tasks(const Statistics& from, work_queue_stats& to) {
    to.tasks_waiting = count(from.tasks_waiting);
    to.tasks_on_workers = count(from.tasks_on_workers);
    to.tasks_running = to.total_worker_slots = count(from.tasks_running);
    to.tasks_with_results = to.tasks_complete = count(from.tasks_with_results);
    to.tasks_submitted = count(from.tasks_submitted);
    to.tasks_dispatched = to.total_tasks_dispatched = count(from.tasks_dispatched);
    to.tasks_done = to.total_tasks_complete = count(from.tasks_done);
    to.tasks_failed = to.total_tasks_failed = count(from.tasks_failed);
    to.tasks_cancelled = to.total_tasks_cancelled = count(from.tasks_cancelled);
    to.tasks_exhausted_attempts = to.total_exhausted_attempts = count(from.tasks_exhausted_attempts);
}

void show_times(const Statistics& from, work_queue_stats& to) {
    to.time_when_started = to.start_time = time(from.time_when_started);
    to.time_send = to.total_send_time = time(from.time_send);
    to.time_receive = to.total_receive_time = time(from.time_receive);
    to.time_send_good = time(from.time_send_good);
    to.time_receive_good = time(from.time_receive_good);
    to.total_good_transfer_time = to.time_send_good + to.time_receive_good;
    to.time_status_msgs = time(from.time_status_msgs);
    to.time_internal = time(from.time_internal);
    to.time_polling = time(from.time_polling);
    to.time_application = time(from.time_application);
    to.time_workers_execute = to.total_execute_time = time(from.time_execute);
    to.time_workers_execute_good = to.total_good_execute_time = time(from.time_execute_good);
    to.time_workers_execute_exhaustion = to.total_exhausted_execute_time = time(from.time_execute_exhaustion);
    if (from.time_execute > 0)
        to.efficiency = static_cast<double>(from.time_execute_good) / static_cast<double>(from.time_execute);
    to.manager_load = from.manager_load;
    to.idle_percentage = 1 - from.manager_load;
}

void show_resources(const Statistics& from, work_queue_stats& to) {
    to.bytes_sent = to.total_bytes_sent = from.bytes_sent;
    to.bytes_received = to.total_bytes_received = from.bytes_received;
    to.bandwidth = from.bandwidth;
    to.capacity_tasks = count(from.capacity_tasks);
    to.capacity_cores = to.avg_capacity = count(from.capacity_cores);
    to.capacity = to.capacity_cores;
    to.capacity_memory = count(from.capacity_memory);
    to.capacity_disk = count(from.capacity_disk);
    to.capacity_gpus = count(from.capacity_gpus);
    to.total_gpus = from.total_gpus;
    to.committed_gpus = from.committed_gpus;
    to.max_gpus = from.max_gpus;
    to.min_gpus = from.min_gpus;
    to.capacity_instantaneous = count(from.capacity_instantaneous);
    to.capacity_weighted = count(from.capacity_weighted);
    to.total_cores = from.total_cores;
    to.total_memory = from.total_memory;
    to.total_disk = from.total_disk;
    to.committed_cores = from.committed_cores;
    to.committed_memory = from.committed_memory;
    to.committed_disk = from.committed_disk;
    to.max_cores = from.max_cores;
    to.max_memory = from.max_memory;
    to.max_disk = from.max_disk;
    to.min_cores = from.min_cores;
    to.min_memory = from.min_memory;
    to.min_disk = from.min_disk;
}

// `category`: null for the whole queue.
void get_stats(const char* function, work_queue* q, const char* category, work_queue_stats* s) {
    guarded(function, [&](const char* me) {
        if (s == nullptr) return complain(me, "the pointer to the statistics is NULL");
        *s = {};
        Manager* manager = manager_of(me, q);
        if (manager == nullptr) return;
        *s = figures(category == nullptr ? manager->stats() : manager->stats_category(category));
        s->port = q->port();
        s->priority = q->options().priority;
    });
}

}  // namespace

work_queue_stats figures(const Statistics& from) {
    work_queue_stats to{};
    show_workers(from, to);
    show_tasks(from, to);
    show_times(from, to);
    show_resources(from, to);
    return to;
}

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

void work_queue_get_stats(work_queue* q, work_queue_stats* s) {
    get_stats(__func__, q, nullptr, s);
}
void work_queue_get_stats_hierarchy(work_queue* q, work_queue_stats* s) {
    get_stats(__func__, q, nullptr, s);
}
void work_queue_get_stats_category(work_queue* q, const char* category, work_queue_stats* s) {
    get_stats(__func__, q, category == nullptr ? "default" : category, s);
}

double work_queue_get_effective_bandwidth(work_queue* q) {
    return guarded(__func__, 0.0, [&](const char* me) {
        const wq::Manager* manager = manager_of(me, q);
        return manager == nullptr ? 0.0 : manager->stats().bandwidth;
    });
}

char* work_queue_get_worker_summary(work_queue* q) {
    return queue_of(__func__, q) == nullptr ? nullptr : ::strdup("n/a");
}

rmsummary** work_queue_workers_summary(work_queue* q) {
    return guarded(__func__, static_cast<rmsummary**>(nullptr), [&](const char* me) -> rmsummary** {
        const wq::Manager* manager = manager_of(me, q);
        if (manager == nullptr) return nullptr;
        const auto groups = wq::manager::status::groups_of(manager->workers());
        auto** all = static_cast<rmsummary**>(std::calloc(groups.size() + 1, sizeof(rmsummary*)));
        if (all == nullptr) throw std::bad_alloc();
        for (std::size_t n = 0; n < groups.size(); ++n) {
            all[n] = rmsummary_create(-1);
            if (all[n] == nullptr) break;  // the end of what there is
            all[n]->workers = static_cast<double>(groups[n].workers);
            all[n]->cores = groups[n].cores;
            all[n]->memory = static_cast<double>(groups[n].memory);
            all[n]->disk = static_cast<double>(groups[n].disk);
            all[n]->gpus = groups[n].gpus;
        }
        return all;
    });
}

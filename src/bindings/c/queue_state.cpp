// Statistics of a queue.

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "api/queue_status.h"
#include "bindings/c/guard.h"
#include "bindings/c/queue.h"
#include "cctools/work_queue_stats.h"
#include "engine/model/manager_stats.h"
#include "manager/status/lister.h"
#include "work_queue/statistics.h"

namespace wq::bindings::c {

namespace {

// Types of the C struct hold fewer values: a program gets the nearest.
void set_field(int& to, std::int64_t from) {
    to = static_cast<int>(std::clamp<std::int64_t>(from, 0, INT_MAX));
}
void set_field(timestamp_t& to, std::int64_t us) {
    to = static_cast<timestamp_t>(std::max<std::int64_t>(us, 0));
}
void set_field(std::int64_t& to, std::int64_t from) {
    to = from;
}
void set_field(double& to, double from) {
    to = from;
}

// The C struct has these times by their aliases alone. It has no WQ_OWN_STATS.
struct Named : work_queue_stats {
    timestamp_t time_execute, time_execute_good, time_execute_exhaustion;
};

work_queue_stats figures(const Statistics& from) {
    Named to{};
    set_field(to.time_when_started, from.time_when_started);
#define WQ_PUT(type, name, ...) set_field(to.name, from.name);
    WQ_MANAGER_STATS(WQ_PUT)
    WQ_GPU_STATS(WQ_PUT)
    WQ_MANAGER_ALIASES(WQ_PUT)
#undef WQ_PUT
#define WQ_PUT(name, of) to.name = to.of;
    WQ_OLD_STATS(WQ_PUT)
#undef WQ_PUT
    to.total_good_transfer_time = to.time_send_good + to.time_receive_good;
    if (from.time_execute > 0)
        to.efficiency = static_cast<double>(from.time_execute_good) / static_cast<double>(from.time_execute);
    to.idle_percentage = 1 - from.manager_load;
    return to;
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

// The state of a queue as JSON.

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

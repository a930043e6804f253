// Category resources and monitoring. Settings are checked at once; they apply from then on, or once the
// manager starts.
#include <cmath>
#include <filesystem>
#include <system_error>

#include "api/translation.h"
#include "bindings/c/guard.h"
#include "bindings/c/queue.h"
#include "records/logs/summary_writer.h"

namespace wq::bindings::c {

namespace {

std::string name_of(const char* category) {
    return category == nullptr ? "" : category;
}

// Fractions of MB are rounded up. NaN stays NaN, and check_amounts() refuses it.
std::int64_t megabytes(double said) {
    constexpr double most = 1e15;
    return said < 0 ? -1 : static_cast<std::int64_t>(std::ceil(std::min(said, most)));
}

// Numbers below 0, and NULL, mean not specified.
Result<TaskResources> resources_of(const rmsummary* rm) {
    TaskResources said;
    if (rm == nullptr) return said;
    if (std::isnan(rm->memory) || std::isnan(rm->disk))
        return Error{ExitCode::usage, "memory and disk must be numbers"};
    said.cores = rm->cores < 0 ? -1 : rm->cores;
    said.memory = megabytes(rm->memory);
    said.disk = megabytes(rm->disk);
    said.gpus = rm->gpus < 0 ? -1 : rm->gpus;
    if (const Status sound = api::check_amounts(said); !sound) return sound.error();
    return said;
}

using SpecifyResources = bool (Manager::*)(const std::string&, const TaskResources&);

void specify_resources(const char* function, work_queue* q, const char* category, const rmsummary* rm,
                       SpecifyResources specify) {
    guarded(function, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return;
        const auto said = resources_of(rm);
        if (!said) return complain(me, said.error().message);
        queue->order([=, name = name_of(category), said = *said](Manager& manager) {
            (manager.*specify)(name, said);
        });
    });
}

int enable_monitoring(const char* function, work_queue* q, const char* folder, bool watchdog,
                      bool (Manager::*enable)(const std::string&, bool)) {
    return guarded(function, 0, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return 0;
        std::string path = folder == nullptr ? "" : folder;
        if (!path.empty()) {
            const auto found = api::summaries_folder(path);
            if (!found) return refuse(me, found.error().message, 0);
            path = *found;
        }
        queue->order([=](Manager& manager) { (manager.*enable)(path, watchdog); });
        return 1;
    });
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

int work_queue_enable_monitoring(work_queue* q, char* folder, int watchdog) {
    return enable_monitoring(__func__, q, folder, watchdog != 0, &wq::Manager::enable_monitoring);
}
int work_queue_enable_monitoring_full(work_queue* q, char* folder, int watchdog) {
    return enable_monitoring(__func__, q, folder, watchdog != 0, &wq::Manager::enable_monitoring_full);
}

int work_queue_specify_category_mode(work_queue* q, const char* category, work_queue_category_mode_t mode) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return 0;
        const auto wanted = static_cast<wq::AllocationMode>(mode);
        if (const auto known = wq::api::mode_of(wanted); !known) return refuse(me, known.error().message, 0);
        queue->order([wanted, name = name_of(category)](wq::Manager& manager) {
            manager.specify_category_mode(name, wanted);
        });
        return 1;
    });
}

void work_queue_specify_category_max_concurrent(work_queue* q, const char* category, int max_concurrent) {
    guarded(__func__, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return;
        queue->order([max_concurrent, name = name_of(category)](wq::Manager& manager) {
            manager.specify_category_max_concurrent(name, max_concurrent);
        });
    });
}

int work_queue_enable_category_resource(work_queue* q, const char* category, const char* resource,
                                        int autolabel) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return 0;
        const std::string wanted = resource == nullptr ? "" : resource;
        if (const auto known = wq::api::resource_named(wanted); !known)
            return refuse(me, known.error().message, 0);
        queue->order([=, name = name_of(category)](wq::Manager& manager) {
            manager.enable_category_resource(name, wanted, autolabel != 0);
        });
        return 1;
    });
}

void work_queue_specify_max_resources(work_queue* q, const rmsummary* rm) {
    specify_resources(__func__, q, nullptr, rm, &wq::Manager::specify_category_max_resources);
}
void work_queue_specify_min_resources(work_queue* q, const rmsummary* rm) {
    specify_resources(__func__, q, nullptr, rm, &wq::Manager::specify_category_min_resources);
}
void work_queue_specify_category_max_resources(work_queue* q, const char* category, const rmsummary* rm) {
    specify_resources(__func__, q, category, rm, &wq::Manager::specify_category_max_resources);
}
void work_queue_specify_category_min_resources(work_queue* q, const char* category, const rmsummary* rm) {
    specify_resources(__func__, q, category, rm, &wq::Manager::specify_category_min_resources);
}
void work_queue_specify_category_first_allocation_guess(work_queue* q, const char* category,
                                                        const rmsummary* rm) {
    specify_resources(__func__, q, category, rm, &wq::Manager::specify_category_first_allocation_guess);
}

void work_queue_initialize_categories(work_queue* q, rmsummary* max, const char* summaries_file) {
    guarded(__func__, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return;
        if (summaries_file == nullptr) return complain(me, "the name of the file is NULL");
        const auto said = resources_of(max);
        if (!said) return complain(me, said.error().message);
        if (const auto read = wq::records::logs::read_summaries(summaries_file); !read)
            return complain(me, read.error().message);
        // The manager starts later, and the program may change its folder before.
        std::error_code unknown;
        const auto whole = std::filesystem::absolute(summaries_file, unknown);
        queue->order([said = *said, path = unknown ? summaries_file : whole.string()](wq::Manager& manager) {
            manager.initialize_categories(path, said);
        });
    });
}

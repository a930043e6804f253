// What programs are told of the state of their queue: as JSON, with the names of CCTools' manager.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/worker_table.h"
#include "work_queue/category.h"
#include "work_queue/statistics.h"
#include "work_queue/task.h"

namespace wq::program_manager {

// By their ids.
std::vector<WorkerSummary> summaries_of(const core::WorkerTable& workers);

// Workers that are equal, and connected.
struct WorkerGroup {
    std::int64_t workers = 0;
    double cores = 0;
    std::int64_t memory = 0;
    std::int64_t disk = 0;
    double gpus = 0;
};
std::vector<WorkerGroup> groups_of(const std::vector<WorkerSummary>& workers);

// What a request asks for: also by the names that CCTools' status protocol has.
enum class StatusOf { queue, tasks, workers, categories, nothing };
StatusOf status_of(std::string_view request);

struct QueueOfStatus {
    std::string project;
    int port = 0;
    int priority = 0;
};
struct TaskOfStatus {
    std::int64_t id = 0;
    TaskState state{};
    const Task* task = nullptr;
    std::string command;  // to be shown instead of the task's; empty: that
};
// Each is an array of objects. Texts that are not UTF-8 have replacement characters.
std::string queue_as_json(const QueueOfStatus& queue, const Statistics& stats);
std::string tasks_as_json(const std::vector<TaskOfStatus>& tasks);
std::string workers_as_json(const std::vector<WorkerSummary>& workers);
// Has the columns of `work_queue_status -A`.
std::string categories_as_json(const std::vector<std::pair<CategorySummary, Statistics>>& categories);

}  // namespace wq::program_manager

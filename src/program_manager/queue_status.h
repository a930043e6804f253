// What programs are told of the state of their queue: as JSON, with the names of CCTools' manager.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "work_queue/category.h"
#include "work_queue/statistics.h"
#include "work_queue/task.h"

namespace wq::program_manager {

// What a request asks for: also by the names that CCTools' status protocol has.
enum class StatusOf { queue, tasks, workers, categories, nothing };
StatusOf status_of(std::string_view request);

struct QueueOfStatus {
    std::string project;
    int port = 0;
    int priority = 0;
    bool ssl = false;
};
struct TaskOfStatus {
    std::int64_t id = 0;  // by which the program knows it
    std::int64_t managers_id = 0;
    TaskState state{};
    const Task* task = nullptr;
    std::string command;  // to be shown instead of the task's; empty: that

    std::string shown() const;
};
// What several requests tell.
struct StatusParts {
    Statistics stats;
    std::vector<WorkerSummary> workers;
    std::vector<std::string> blocked_hosts;
    std::vector<std::pair<CategorySummary, Statistics>> categories;
};
// Finds a task by the manager's id; its state is not needed. nullopt: the program has no such task.
using NameTask = std::function<std::optional<TaskOfStatus>(std::int64_t managers_id)>;

// Each is an array of objects. Texts that are not UTF-8 have replacement characters.
std::string queue_as_json(const QueueOfStatus& queue, const StatusParts& parts);
std::string tasks_as_json(const std::vector<TaskOfStatus>& tasks, const std::vector<WorkerSummary>& workers);
std::string workers_as_json(const std::vector<WorkerSummary>& workers, const NameTask& name_of_task);
// Has the columns of `work_queue_status -A`, and at its end the "whole queue".
std::string categories_as_json(const StatusParts& parts);

}  // namespace wq::program_manager

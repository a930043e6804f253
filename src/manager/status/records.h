// The state of a queue as JSON objects with the keys of CCTools' manager: for programs and for those who look
// from elsewhere. Texts that are not UTF-8 have replacement characters. No record has a key or a password,
// and only those of tasks and workers have commands.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/messages/messages.h"
#include "work_queue/category.h"
#include "work_queue/statistics.h"
#include "work_queue/task.h"

namespace wq::manager::status {

// What a request asks for, also by the names of CCTools' status protocol; nullopt: nothing.
std::optional<net::messages::StatusOf> status_of(std::string_view request);

struct QueueOfStatus {
    std::string project;
    int port = 0;
    int priority = 0;  // among managers of one name
    bool ssl = false;
    int tasks_left = 0;  // as the program says
    std::string preferred_connection = "by_ip";
    std::string owner{};                   // user's name
    std::vector<std::string> addresses{};  // numeric, the likeliest first
    bool operator==(const QueueOfStatus&) const = default;
};
// Of this user; the rest is as a manager has it that says nothing.
QueueOfStatus described(std::string project, int port, bool ssl, std::vector<std::string> addresses);

// The sum of connected workers, the smallest and the largest, and what of them is in use.
struct Amounts {
    double total = 0;
    double used = 0;
    double smallest = 0;
    double largest = 0;
};
struct ResourceSums {
    std::int64_t count = 0;
    Amounts workers, cores, memory, disk, gpus;

    void add(const WorkerSummary& worker);
};

struct CategoryOfStatus {
    CategorySummary summary;
    Statistics stats;
};
// What unfinished tasks request, together.
struct RequestSums {
    double cores = 0;
    double memory = 0;
    double disk = 0;
    double gpus = 0;
};
struct QueueParts {
    QueueOfStatus queue;
    Statistics stats;
    ResourceSums resources;
    std::optional<RequestSums> requests;  // nothing: too many shapes to sum up
    std::vector<std::string> blocked_hosts;
    std::vector<CategoryOfStatus> categories;
};

// The worker that has a task, and what is allocated to it there.
struct PlaceOfTask {
    std::string host;
    std::string address;
    DispatchedTask task;
};
struct TaskOfStatus {
    std::int64_t id = 0;  // by which the program knows it
    TaskState state = TaskState::unknown;
    std::string command{};  // as shown to people
    std::string category{};
    std::string tag{};
    std::string coprocess{};
    double priority = 0;
    TaskResources requested{};
    std::optional<PlaceOfTask> place{};
};
// The task that a worker has; `id`: as DispatchedTask's. nullopt: it is unknown, or about to end.
using NameTask = std::function<std::optional<TaskOfStatus>(std::int64_t id)>;

std::string queue_as_json(const QueueParts& parts);
std::string task_as_json(const TaskOfStatus& task);
std::string worker_as_json(const WorkerSummary& worker, const NameTask& name_task);
// Objects separated by commas, as work_queue_status -A shows them; the last one is the "whole queue".
std::string categories_as_json(const QueueParts& parts);

}  // namespace wq::manager::status

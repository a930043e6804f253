#include "api/unfinished_tasks.h"

namespace wq::api {

void UnfinishedTasks::begin() noexcept {
    const std::lock_guard lock(mutex_);
    begun_ = true;
}

// Call it with the lock. The source may not have read the last submissions yet.
bool UnfinishedTasks::look() {
    if (begun_) source_.keep_tasks();
    return begun_;
}

std::unique_ptr<TaskData> UnfinishedTasks::give_back(TaskData* task) {
    if (task == nullptr) return nullptr;
    TaskReport& report = task->tell();
    report.reason = queue_.why_closed();
    report.result = TaskResult::forsaken;
    report.finish_time = wall_now();
    const TaskId id(static_cast<std::uint64_t>(task->id) - 1);
    RangeTask* range = tasks_.range_of(id);
    if (range != nullptr) {
        report.progress = {};
        report.progress.done_total = range->done;
        report.progress.failed_total = range->failed;
        report.progress.size = range->size();
    }
    std::unique_ptr<TaskData> taken = range != nullptr ? tasks_.remove_range(*range) : tasks_.remove(id);
    results_.forget(taken->tag, taken->by_tag_only);
    return taken;
}

std::unique_ptr<TaskData> UnfinishedTasks::next(const std::string* tag) {
    const std::lock_guard lock(mutex_);
    if (!look()) return nullptr;
    if (tag != nullptr) return give_back(tasks_.tagged(*tag));
    for (; next_ <= static_cast<std::int64_t>(tasks_.size()); ++next_) {
        TaskData* const task = tasks_.find_whole(next_);
        if (task != nullptr && !task->by_tag_only) return give_back(task);
    }
    return nullptr;
}

std::unique_ptr<TaskData> UnfinishedTasks::take(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    return look() ? give_back(tasks_.find_whole(id)) : nullptr;
}

std::vector<std::unique_ptr<TaskData>> UnfinishedTasks::take_category(const std::string* category) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<TaskData>> all;
    if (!look()) return all;
    std::vector<TaskData*> wanted;
    tasks_.for_each([&](TaskData& task) {
        if (!task.by_tag_only && (category == nullptr || task.category == *category)) wanted.push_back(&task);
    });
    all.reserve(wanted.size());
    for (TaskData* const task : wanted) all.push_back(give_back(task));
    return all;
}

bool UnfinishedTasks::has(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    return look() && tasks_.find_whole(id) != nullptr;
}

}  // namespace wq::api

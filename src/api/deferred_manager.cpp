#include "api/deferred_manager.h"

#include <unistd.h>

#include "api/task_data.h"
#include "api/translation.h"

namespace wq::api {

DeferredManager::DeferredManager(ManagerOptions given, api::HeldPort held)
    : options(std::move(given)), port_(held.port), held_(std::move(held)), process_(::getpid()) {}

bool DeferredManager::ours() const {
    return !begun() || process_ == ::getpid();
}

std::string DeferredManager::why_not() const {
    return ours() ? why_not_ : "this queue belongs to the parent process";
}

Manager* DeferredManager::serving() {
    if (!ours()) return nullptr;
    if (!begun()) begin();
    return manager_.get();
}

Status DeferredManager::specify(const std::function<void(ManagerOptions&)>& change) {
    if (!ours() || (begun() && !manager_)) return Error{ExitCode::unreachable, why_not()};
    ManagerOptions changed = options;
    change(changed);
    if (Status sound = api::check_description(changed); !sound) return sound;
    if (manager_ && !manager_->change(changed)) return Error{ExitCode::usage, manager_->last_error()};
    options = std::move(changed);
    return success();
}

void DeferredManager::order(std::function<void(Manager&)> what) {
    if (!ours()) return;
    if (manager_)
        what(*manager_);
    else if (!begun())
        orders_.push_back(std::move(what));
}

void DeferredManager::begin() {
    process_ = ::getpid();  // the program may have become a daemon since
    options.sockets = held_.descriptors();
    options.listen = !options.sockets.empty();
    try {
        manager_ = std::make_shared<Manager>(options);
    } catch (const SetupError& error) {
        why_not_ = error.what();
    }
    held_.sockets.clear();
    if (!manager_) return;
    for (const auto& order : orders_) order(*manager_);
    orders_.clear();
    for (auto& [id, task] : waiting_) manager_->submit(std::move(task));
    waiting_.clear();
}

std::int64_t DeferredManager::submit(const Task& task, std::string& refusal) {
    if (!ours() || (begun() && !manager_)) {
        refusal = why_not();
        return 0;
    }
    auto data = TaskAccess::take(Task(task));
    if (const Status sound = api::check(*data); !sound) {
        refusal = sound.error().message;
        return 0;
    }
    Task sound = TaskAccess::wrap(std::move(data));
    std::int64_t id = submitted_ + 1;
    if (manager_) {
        id = manager_->submit(std::move(sound));
        if (id == 0) {
            refusal = manager_->last_error();
            return 0;
        }
    } else {
        waiting_.emplace_back(id, std::move(sound));
    }
    submitted_ = id;
    return id;
}

std::optional<Task> DeferredManager::forsake_one(const std::string* tag) {
    for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
        if (tag != nullptr && one->second.tag() != *tag) continue;
        auto data = TaskAccess::take(std::move(one->second));
        data->id = one->first;
        data->edit_report().result = TaskResult::forsaken;
        data->edit_report().reason = why_not_;
        waiting_.erase(one);
        return TaskAccess::wrap(std::move(data));
    }
    return std::nullopt;
}

std::shared_ptr<Manager> DeferredManager::leave() {
    const bool ours = process_ == ::getpid();
    if (why_not_.empty()) why_not_ = "the queue has ended";
    held_.sockets.clear();  // of a queue that nobody has used
    std::shared_ptr<Manager> manager = std::move(manager_);
    if (ours || !manager) return manager;
    [[maybe_unused]] const auto* const left_behind = new std::shared_ptr<Manager>(std::move(manager));
    return nullptr;
}

void DeferredManager::end() {
    std::shared_ptr<Manager> manager = leave();
    if (waits_ == 0 || !manager) return;
    [[maybe_unused]] const auto* const left_behind = new std::shared_ptr<Manager>(std::move(manager));
}

}  // namespace wq::api

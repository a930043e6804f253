#include "capi/queue.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <utility>

#include "capi/debug_log.h"
#include "capi/live_objects.h"
#include "capi/messages.h"
#include "program_manager/shapes.h"
#include "program_manager/task_data.h"

using wq::capi::TaskBox;

namespace {

using Queues = wq::capi::LiveObjects<work_queue>;

// Programs may return from main() with a queue: its thread must end before anything it uses is destroyed.
void end_all() {
    for (const work_queue* queue : Queues::all().list())
        if (queue->process() == ::getpid()) const_cast<work_queue*>(queue)->end();
}

}  // namespace

work_queue::work_queue(wq::ManagerOptions given, wq::program_manager::HeldPort held)
    : options(std::move(given)), port(held.port), held_(std::move(held)), process_(::getpid()) {
    Queues::all().add(this);
    [[maybe_unused]] static const int once = std::atexit(end_all);
}

work_queue::~work_queue() {
    Queues::all().remove(this);
    end();
    for (const auto& [id, box] : tasks) box->queue = nullptr;
}

// A forked process has the queue's memory, but not its thread. A manager that a call waits for is not
// destroyed either: exit() in a signal handler or in another thread would wait for that call.
void work_queue::end() {
    why_not_ = "the queue has ended";
    for (const auto& [user, let_go] : std::exchange(users, {})) let_go();
    if (process_ == ::getpid() && waits_ == 0)
        manager_.reset();
    else
        static_cast<void>(manager_.release());
}

wq::Manager* work_queue::serving() {
    if (begun() && process_ != ::getpid()) {
        wq::capi::complain("work_queue", "this queue belongs to the parent process");
        return nullptr;
    }
    if (!begun()) begin();
    return manager_.get();
}

void work_queue::order(std::function<void(wq::Manager&)> what) {
    if (manager_)
        what(*manager_);
    else
        orders_.push_back(std::move(what));
}

void work_queue::begin() {
    process_ =
        ::getpid();  // owner of the thread: the program may have become a daemon since it created the queue
    options.sockets = held_.descriptors();
    options.listen = !options.sockets.empty();
    const wq::capi::DebugSettings debug = wq::capi::debug_settings();
    options.debug_log = debug.file;
    options.debug_flags = debug.flags;
    options.debug_rotate_bytes = debug.rotate_bytes;
    try {
        manager_ = std::make_unique<wq::Manager>(options);
    } catch (const wq::SetupError& error) {
        why_not_ = error.what();
    }
    held_.sockets.clear();
    if (!manager_) return wq::capi::complain("work_queue", why_not_);
    for (const auto& order : orders_) order(*manager_);
    orders_.clear();
    for (auto& [id, task] : waiting_) manager_->submit(std::move(task));
    waiting_.clear();
}

int work_queue::submit(TaskBox& box, std::string& refusal) {
    const int id = ids.next();
    if (id == 0) refusal = "no task ids are left";
    if (!why_not_.empty()) refusal = why_not_;
    // Makes the manager's checks now, with the paths of this moment.
    auto data = wq::TaskAccess::take(wq::Task(box.spec));
    if (const wq::Status sound = wq::program_manager::check(*data); !sound) refusal = sound.error().message;
    if (!refusal.empty()) return 0;
    wq::Task task = wq::TaskAccess::wrap(std::move(data));
    std::int64_t manager_id = ids.count() + 1;
    if (manager_) {
        manager_id = manager_->submit(std::move(task));
        refusal = manager_id == 0 ? manager_->last_error() : std::string();
        if (manager_id == 0) return 0;
    } else {
        waiting_.emplace_back(manager_id, std::move(task));
    }
    tasks.emplace(manager_id, &box);
    ids.take();
    wq::capi::clear_outcome(box);
    box.taskid = id;
    box.queue = this;
    return id;
}

TaskBox* work_queue::remove(std::int64_t id) {
    const auto found = tasks.find(id);
    if (found == tasks.end()) return nullptr;
    TaskBox* box = found->second;
    tasks.erase(found);
    box->queue = nullptr;
    return box;
}

TaskBox* work_queue::take_back(const std::optional<wq::Task>& ended) {
    if (!ended) return nullptr;
    TaskBox* box = remove(ended->id());
    if (box != nullptr) wq::capi::show_outcome(*box, *ended);
    return box;
}

// Lets a program end that waits until its queue is empty.
TaskBox* work_queue::forsake_one(const std::string* tag) {
    for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
        if (tag != nullptr && one->second.tag() != *tag) continue;
        TaskBox* box = remove(one->first);
        waiting_.erase(one);
        if (box != nullptr) wq::capi::show_forsaken(*box, why_not_);
        return box;
    }
    return nullptr;
}

// As in Work Queue, a program that polls finds the queue empty, but should not spin. A wait without limit
// would wait for ever, so it returns. A signal ends the wait.
void work_queue::wait_in_vain(int timeout) {
    if (timeout == WORK_QUEUE_WAITFORTASK) return;
    const int seconds = timeout > 0 ? timeout : timeout == 0 ? 1 : 5;
    ::poll(nullptr, 0, std::min(seconds, INT_MAX / 1000) * 1000);
}

TaskBox* work_queue::wait(int timeout, const std::string* tag) {
    wq::Manager* manager = serving();
    if (manager == nullptr) return forsake_one(tag);
    if (tasks.empty()) {
        wait_in_vain(timeout);
        return nullptr;
    }
    ++waits_;
    const auto ended = tag == nullptr ? manager->wait(timeout) : manager->wait_for_tag(*tag, timeout);
    --waits_;
    return take_back(ended);
}

namespace wq::capi {

work_queue* queue_of(const char* function, const work_queue* queue) {
    if (queue == nullptr) {
        complain(function, "the queue is NULL");
        return nullptr;
    }
    if (!LiveObjects<work_queue>::all().has(queue)) {
        complain(function, "this is not a queue, or it was deleted");
        return nullptr;
    }
    return const_cast<work_queue*>(queue);
}

work_queue* queue_to_specify(const char* function, work_queue* queue) {
    work_queue* found = queue_of(function, queue);
    if (found == nullptr || !found->begun()) return found;
    complain(function, "too late: call this before the first work_queue_wait() or other call for results");
    return nullptr;
}

Manager* manager_of(const char* function, work_queue* queue) {
    work_queue* found = queue_of(function, queue);
    return found == nullptr ? nullptr : found->serving();
}

}  // namespace wq::capi

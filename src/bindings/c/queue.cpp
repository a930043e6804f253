#include "bindings/c/queue.h"

#include <poll.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <utility>

#include "bindings/c/debug.h"
#include "bindings/c/guard.h"

using wq::bindings::c::TaskBox;

namespace {

using Queues = wq::bindings::c::LiveObjects<work_queue>;

// Programs may return from main() with a queue: its thread must end before anything it uses is destroyed.
void end_all() {
    for (const work_queue* queue : Queues::all().list())
        if (queue->ours()) const_cast<work_queue*>(queue)->end();
}

}  // namespace

work_queue::work_queue(wq::ManagerOptions given, wq::api::HeldPort held)
    : deferred_(std::move(given), std::move(held)) {
    Queues::all().add(this);
    [[maybe_unused]] static const int once = std::atexit(end_all);
}

work_queue::~work_queue() {
    Queues::all().remove(this);
    end();
    for (const auto& [id, box] : tasks) box->queue = nullptr;
}

void work_queue::end() {
    for (const auto& [user, let_go] : std::exchange(users, {})) let_go();
    deferred_.end();
}

wq::Manager* work_queue::serving() {
    const bool said = begun() && ours();
    if (!begun()) {
        const wq::bindings::c::DebugSettings debug = wq::bindings::c::debug_settings();
        options().debug_log = debug.file;
        options().debug_flags = debug.flags;
        options().debug_rotate_bytes = debug.rotate_bytes;
    }
    wq::Manager* const manager = deferred_.serving();
    if (manager == nullptr && !said) wq::bindings::c::complain("work_queue", deferred_.why_not());
    return manager;
}

int work_queue::submit(TaskBox& box, std::string& refusal) {
    const int id = ids.next();
    if (id == 0) {
        refusal = "no task ids are left";
        return 0;
    }
    const std::int64_t manager_id = deferred_.submit(box.spec, refusal);
    if (manager_id == 0) return 0;
    tasks.emplace(manager_id, &box);
    ids.take();
    wq::bindings::c::clear_outcome(box);
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
    if (box != nullptr) wq::bindings::c::show_outcome(*box, *ended);
    return box;
}

// Lets a program end that waits until its queue is empty.
TaskBox* work_queue::forsake_one(const std::string* tag) {
    const auto one = deferred_.forsake_one(tag);
    TaskBox* box = one ? remove(one->id()) : nullptr;
    if (box != nullptr) wq::bindings::c::show_forsaken(*box, one->reason());
    return box;
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
    const wq::api::DeferredManager::Waiting waiting(deferred_);
    return take_back(tag == nullptr ? manager->wait(timeout) : manager->wait_for_tag(*tag, timeout));
}

TaskBox* work_queue::wait_at_most(std::chrono::milliseconds limit, const std::string* tag) {
    wq::Manager* manager = serving();
    if (manager == nullptr) return forsake_one(tag);
    const wq::api::DeferredManager::Waiting waiting(deferred_);
    return take_back(tag == nullptr ? manager->wait_at_most(limit)
                                    : manager->wait_for_tag_at_most(*tag, limit));
}

namespace wq::bindings::c {

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

}  // namespace wq::bindings::c

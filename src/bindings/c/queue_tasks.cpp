// Submits tasks to a queue and returns them.
#include "bindings/c/guard.h"
#include "bindings/c/queue.h"
#include "cctools/list.h"

namespace wq::bindings::c {

namespace {

// Returns what `wait(queue, tag)` gives; a null tag: any.
template <class Wait>
work_queue_task* wait_for(const char* function, work_queue* q, const char* tag, const Wait& wait) {
    return guarded(function, static_cast<work_queue_task*>(nullptr), [&](const char* me) -> work_queue_task* {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return nullptr;
        const std::string wanted = tag == nullptr ? "" : tag;
        return wait(*queue, tag == nullptr ? nullptr : &wanted);
    });
}

// Returns the task that `cancel(manager)` gives back.
template <class Cancel>
work_queue_task* cancelled(const char* function, work_queue* q, const Cancel& cancel) {
    return guarded(function, static_cast<work_queue_task*>(nullptr), [&](const char* me) -> work_queue_task* {
        Manager* manager = manager_of(me, q);
        return manager == nullptr ? nullptr : q->take_back(cancel(*manager));
    });
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

int work_queue_submit(work_queue* q, work_queue_task* t) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        TaskBox* box = queue == nullptr ? nullptr : task_to_specify(me, t);
        if (box == nullptr) return 0;
        std::string refusal;
        if (!box->refused_file.empty()) refusal = "a file of the task was refused: " + box->refused_file;
        const int id = refusal.empty() ? queue->submit(*box, refusal) : 0;
        if (id == 0) complain(me, refusal);
        return id;
    });
}

int work_queue_specify_min_taskid(work_queue* q, int id) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return 0;
        queue->ids.at_least(id);
        return queue->ids.next();
    });
}

work_queue_task* work_queue_wait(work_queue* q, int timeout) {
    return wait_for(__func__, q, nullptr,
                    [=](work_queue& queue, const std::string* tag) { return queue.wait(timeout, tag); });
}

work_queue_task* work_queue_wait_for_tag(work_queue* q, const char* tag, int timeout) {
    return wait_for(__func__, q, tag, [=](work_queue& queue, const std::string* wanted) {
        return queue.wait(timeout, wanted);
    });
}

work_queue_task* work_queue_wait_at_most(work_queue* q, const char* tag, int milliseconds) {
    return wait_for(__func__, q, tag, [=](work_queue& queue, const std::string* wanted) {
        return queue.wait_at_most(std::chrono::milliseconds(milliseconds), wanted);
    });
}

int work_queue_gather(work_queue* q, int milliseconds) {
    return guarded(__func__, 1, [&](const char* me) {
        wq::Manager* manager = manager_of(me, q);
        return manager == nullptr || manager->gather(std::chrono::milliseconds(milliseconds)) ? 1 : 0;
    });
}

int work_queue_hungry(work_queue* q) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue* const queue = queue_of(me, q);
        if (queue == nullptr) return 0;
        // 1 if the manager cannot start: then work_queue_submit() says why, and no loop waits for it.
        const wq::Manager* manager = queue->serving();
        return manager == nullptr ? 1 : manager->hungry();
    });
}

int work_queue_empty(work_queue* q) {
    const work_queue* queue = queue_of(__func__, q);
    return queue == nullptr || queue->empty() ? 1 : 0;
}

work_queue_task_state_t work_queue_task_state(work_queue* q, int taskid) {
    return guarded(__func__, WORK_QUEUE_TASK_UNKNOWN, [&](const char* me) {
        const wq::Manager* manager = manager_of(me, q);
        const auto id = manager == nullptr ? std::nullopt : q->ids.of_manager(taskid);
        return id ? static_cast<work_queue_task_state_t>(manager->task_state(*id)) : WORK_QUEUE_TASK_UNKNOWN;
    });
}

work_queue_task* work_queue_cancel_by_taskid(work_queue* q, int id) {
    return cancelled(__func__, q, [&](wq::Manager& manager) {
        const auto found = q->ids.of_manager(id);
        return found ? manager.cancel_by_taskid(*found) : std::nullopt;
    });
}

work_queue_task* work_queue_cancel_by_tasktag(work_queue* q, const char* tag) {
    return cancelled(__func__, q,
                     [&](wq::Manager& manager) { return manager.cancel_by_tag(tag == nullptr ? "" : tag); });
}

list* work_queue_cancel_all_tasks(work_queue* q) {
    return guarded(__func__, static_cast<list*>(nullptr), [&](const char* me) -> list* {
        wq::Manager* manager = manager_of(me, q);
        if (manager == nullptr) return nullptr;
        list* all = cctools_list_create();
        for (wq::Task& task : manager->cancel_all())
            if (TaskBox* box = q->take_back(std::move(task)))
                cctools_list_push_tail(all, static_cast<work_queue_task*>(box));
        return all;
    });
}

int work_queue_shut_down_workers(work_queue* q, int n) {
    return guarded(__func__, 0, [&](const char* me) {
        wq::Manager* manager = manager_of(me, q);
        return manager == nullptr ? 0 : manager->shutdown_workers(n);
    });
}

int work_queue_specify_draining_by_hostname(work_queue* q, const char* hostname, int drain) {
    return guarded(__func__, 0, [&](const char* me) {
        wq::Manager* manager = manager_of(me, q);
        if (manager == nullptr) return 0;
        if (hostname == nullptr) return refuse(me, "the name of the host is NULL", 0);
        return manager->drain(hostname, drain != 0);
    });
}

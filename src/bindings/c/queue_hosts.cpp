// Blocked hosts, and tasks that take too long.
#include "bindings/c/guard.h"
#include "bindings/c/queue.h"

namespace wq::bindings::c {

namespace {

// Applies a setting of a host now, or when the manager starts.
template <class Order>
void order_of_host(const char* function, work_queue* q, const char* hostname, const Order& order) {
    guarded(function, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return;
        if (hostname == nullptr || *hostname == '\0')
            return complain(me, "the name of the host is NULL or empty");
        queue->order([order, host = std::string(hostname)](Manager& manager) { order(manager, host); });
    });
}

constexpr int on = 0;
constexpr int off = 1;

int fast_abort(const char* function, work_queue* q, const char* category, double multiplier) {
    return guarded(function, off, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return off;
        const std::string name = category;
        if (name == "default") queue->ends_slow_tasks = multiplier >= 1;
        queue->order([=](Manager& manager) { manager.activate_fast_abort_category(name, multiplier); });
        const bool as_for_all = multiplier < 0 || (multiplier > 0 && multiplier < 1);
        return multiplier >= 1 || (as_for_all && queue->ends_slow_tasks) ? on : off;
    });
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

void work_queue_block_host(work_queue* q, const char* hostname) {
    order_of_host(__func__, q, hostname,
                  [](wq::Manager& manager, const std::string& host) { manager.block_host(host); });
}
void work_queue_block_host_with_timeout(work_queue* q, const char* hostname, time_t seconds) {
    order_of_host(__func__, q, hostname, [=](wq::Manager& manager, const std::string& host) {
        manager.block_host_with_timeout(host, seconds);
    });
}
void work_queue_unblock_host(work_queue* q, const char* hostname) {
    order_of_host(__func__, q, hostname,
                  [](wq::Manager& manager, const std::string& host) { manager.unblock_host(host); });
}
void work_queue_unblock_all(work_queue* q) {
    guarded(__func__, [&](const char* me) {
        if (work_queue* queue = queue_of(me, q))
            queue->order([](wq::Manager& manager) { manager.unblock_all(); });
    });
}

int work_queue_activate_fast_abort(work_queue* q, double multiplier) {
    return fast_abort(__func__, q, "default", multiplier);
}
int work_queue_activate_fast_abort_category(work_queue* q, const char* category, double multiplier) {
    return fast_abort(__func__, q, category == nullptr ? "default" : category, multiplier);
}

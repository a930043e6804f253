#include "programs/run/run_queue.h"

namespace wq::programs::run {

engine::model::ManagerStats RunQueue::stats() const {
    engine::model::ManagerStats stats = manager_.stats();
    stats.time_when_started = started_.wall;
    return stats;
}

std::optional<manager::status::TaskOfStatus> RunQueue::task(TaskId task) const {
    manager::status::TaskOfStatus named;
    const std::uint64_t line = tasks_.line(task);
    named.id = static_cast<std::int64_t>(line > 0 ? line : tasks_.key(task).value);
    named.command = tasks_.command(task);
    named.tag = tasks_.tags(task);
    return named;
}

}  // namespace wq::programs::run

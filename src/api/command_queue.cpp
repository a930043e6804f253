#include "api/command_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <future>

namespace wq::api {

CommandQueue::CommandQueue() {
    descriptor_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void CommandQueue::put(Command command) {
    waiting_.push_back(std::move(command));
    if (!asleep_) return;
    asleep_ = false;
    const std::uint64_t one = 1;
    woken_ = ::write(descriptor_.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one);
}

std::int64_t CommandQueue::submit(std::unique_ptr<TaskData> task) {
    const std::lock_guard lock(mutex_);
    if (closed_) return 0;
    const std::int64_t id = next_id_;
    next_id_ += static_cast<std::int64_t>(task->count());
    task->id = id;
    put(std::move(task));
    return id;
}

bool CommandQueue::ask(Request request) {
    std::promise<void> done;
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return false;
        put([&] {
            request();
            done.set_value();
        });
    }
    done.get_future().wait();
    return true;
}

std::int64_t CommandQueue::submitted() const {
    const std::lock_guard lock(mutex_);
    return next_id_ - 1;
}

void CommandQueue::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
}

bool CommandQueue::has_more() {
    const std::lock_guard lock(mutex_);
    asleep_ = waiting_.empty();
    return !asleep_;
}

void CommandQueue::take(std::vector<Command>& commands) {
    const std::lock_guard lock(mutex_);
    asleep_ = false;
    if (woken_) {
        std::uint64_t count = 0;
        // Cannot fail: it was written to.
        if (::read(descriptor_.get(), &count, sizeof count) > 0) woken_ = false;
    }
    if (commands.empty()) {
        commands.swap(waiting_);
        return;
    }
    commands.insert(commands.end(), std::make_move_iterator(waiting_.begin()),
                    std::make_move_iterator(waiting_.end()));
    waiting_.clear();
}

}  // namespace wq::api

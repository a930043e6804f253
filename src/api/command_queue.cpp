#include "api/command_queue.h"

namespace wq::api {

namespace {
// Reserved for the reason of a failure, because no memory may be left then.
constexpr std::size_t longest_reason = 512;
}  // namespace

void Asked::run() {
    answered_ = true;
    try {
        request_();
    } catch (...) {
        answer_.set_exception(std::current_exception());
        throw;
    }
    answer_.set_value(true);
}

CommandQueue::CommandQueue() {
    why_closed_.reserve(longest_reason);
}

void CommandQueue::put(Command command) {
    waiting_.push_back(std::move(command));
    if (!asleep_) return;
    asleep_ = false;
    woken_ = wake_.set();
}

std::int64_t CommandQueue::submit(std::unique_ptr<TaskData> task) {
    const std::lock_guard lock(mutex_);
    if (closed_) return 0;
    const std::int64_t id = next_id_;
    const auto count = static_cast<std::int64_t>(task->count());
    task->id = id;
    put(std::move(task));
    next_id_ += count;  // ids have no gaps, even if memory ran out for a task
    return id;
}

bool CommandQueue::ask(std::function<void()> request) {
    auto asked = std::make_unique<Asked>(std::move(request));
    std::future<bool> answer = asked->answer();
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return false;
        put(std::move(asked));
    }
    return answer.get();
}

std::int64_t CommandQueue::submitted() const {
    const std::lock_guard lock(mutex_);
    return next_id_ - 1;
}

void CommandQueue::close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
}

void CommandQueue::fail(std::string_view why) noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = failed_ = true;
    why_closed_ += ": ";
    why_closed_ += why.substr(0, why_closed_.capacity() - why_closed_.size());
}

std::string CommandQueue::why_closed() const {
    const std::lock_guard lock(mutex_);
    return why_closed_;
}

std::string CommandQueue::failure() const {
    const std::lock_guard lock(mutex_);
    return failed_ ? why_closed_ : std::string();
}

void CommandQueue::drop_requests() noexcept {
    const std::lock_guard lock(mutex_);
    drop_requests_of(waiting_);
}

bool CommandQueue::has_more() {
    const std::lock_guard lock(mutex_);
    asleep_ = waiting_.empty();
    return !asleep_;
}

void CommandQueue::take(std::vector<Command>& commands) {
    const std::lock_guard lock(mutex_);
    asleep_ = false;
    if (woken_ && wake_.clear()) woken_ = false;
    if (commands.empty()) {
        commands.swap(waiting_);
        return;
    }
    commands.insert(commands.end(), std::make_move_iterator(waiting_.begin()),
                    std::make_move_iterator(waiting_.end()));
    waiting_.clear();
}

}  // namespace wq::api

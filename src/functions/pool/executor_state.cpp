#include "functions/pool/executor_state.h"

#include <array>

#include "functions/pool/result_queue.h"
#include "work_queue/job_executor.h"

namespace wq::functions::pool {

void ExecutorState::check_can_start() const {
    if (stage_ != Stage::made || is_copy())
        throw SetupError("a JobExecutor that was closed cannot be started", 69);
}

std::string ExecutorState::wait_until_all_are_up(Duration timeout) {
    std::unique_lock lock(mutex_);
    const bool in_time =
        changed_.wait_for(lock, at_most_a_year(timeout), [this] { return all_up_ || !why_not_up_.empty(); });
    return in_time ? why_not_up_ : "they have not begun in time";
}

ExecutorState::Left ExecutorState::note_lanes(const LanesSeen& seen) {
    const std::lock_guard lock(mutex_);
    if (stage_ == Stage::closing) return Left::some;
    if (!all_up_ && seen.up == seen.all) {
        all_up_ = true;
        changed_.notify_all();
    }
    if (seen.gone > 0 && !all_up_ && why_not_up_.empty()) {
        why_not_up_ = seen.why_gone;
        changed_.notify_all();
    }
    if (seen.gone < seen.all) return Left::some;
    if (why_none_.empty()) why_none_ = seen.why_gone;
    return Left::none;
}

void ExecutorState::check_open() const {
    if (is_copy()) throw ExecutorClosed("put() in a forked copy of the program, which has no workers");
    const std::lock_guard lock(mutex_);
    if (stage_ == Stage::made) throw ExecutorClosed("put() before start()");
    if (stage_ != Stage::running) throw ExecutorClosed("put() after close()");
    if (aborted_) throw ExecutorClosed("put() after abort()");
    if (!why_none_.empty()) throw ExecutorClosed("no worker is left: " + why_none_);
}

bool ExecutorState::is_made() const {
    const std::lock_guard lock(mutex_);
    return stage_ == Stage::made;
}

bool ExecutorState::is_running() const {
    const std::lock_guard lock(mutex_);
    return stage_ == Stage::running && !aborted_;
}

std::string ExecutorState::describe() const {
    constexpr std::array<const char*, 4> stages{"not started", "running", "closing", "closed"};
    const std::lock_guard lock(mutex_);
    std::string text = stages[static_cast<std::size_t>(stage_)];
    if (aborted_) text += ", aborted";
    if (!why_none_.empty()) text += ", no worker is left: " + why_none_;
    return text;
}

ExecutorState::Asked ExecutorState::asked() const {
    const std::lock_guard lock(mutex_);
    return {aborted_, stage_ == Stage::closing ? std::optional(close_times_) : std::nullopt};
}

void ExecutorState::abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
}

bool ExecutorState::begin_close(CloseTimes times) {
    const std::lock_guard lock(mutex_);
    if (stage_ == Stage::closed) return false;
    stage_ = Stage::closing;
    close_times_ = times;
    return true;
}

void ExecutorState::end_close() {
    const std::lock_guard lock(mutex_);
    stage_ = Stage::closed;
}

bool ExecutorState::begin_call() {
    const std::lock_guard lock(mutex_);
    if (has_call_) return false;
    has_call_ = true;
    return true;
}

void ExecutorState::end_call() {
    const std::lock_guard lock(mutex_);
    has_call_ = false;
    changed_.notify_all();
}

void ExecutorState::wait_for_end_of_call(Instant until) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, until - instant_now(), [this] { return !has_call_; });
}

}  // namespace wq::functions::pool

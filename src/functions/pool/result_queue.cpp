#include "functions/pool/result_queue.h"

#include <utility>

namespace wq::functions::pool {

JobResult<Batch> FinishedJob::decoded() && {
    JobResult<Batch> result;
    result.metadata = metadata;
    const std::string_view payload = std::string_view(bytes).substr(start);
    if (outcome != Outcome::value) {
        result.error = payload.empty() ? "the function failed without a word" : payload;
        return result;
    }
    auto batch = decode(payload, std::move(blocks));
    if (batch)
        result.value = std::move(*batch);
    else
        result.error = batch.error().message;
    return result;
}

void FinishedJob::drop() {
    for (std::shared_ptr<Block>& block : blocks) Block::drop_user(std::move(block));
    blocks.clear();
}

bool ResultQueue::has_room() const {
    const std::lock_guard lock(mutex_);
    return results_.size() < most_;
}

// Of a long queue an eighth, so that each wake-up is for several results.
bool ResultQueue::has_room_again() const {
    constexpr std::size_t is_long = 64;
    const std::lock_guard lock(mutex_);
    const std::size_t room = most_ - results_.size();
    return most_ < is_long ? room > 0 : room >= most_ / 8;
}

std::uint64_t ResultQueue::expect() {
    const std::lock_guard lock(mutex_);
    ++expected_;
    return session_;
}

void ResultQueue::unexpect() {
    const std::lock_guard lock(mutex_);
    if (--expected_ == 0) filled_.notify_all();
}

std::size_t ResultQueue::expected() const {
    const std::lock_guard lock(mutex_);
    return expected_;
}

void ResultQueue::add(FinishedJob result) {
    std::unique_lock lock(mutex_);
    const bool is_last = --expected_ == 0;
    const bool counts = result.outcome != Outcome::not_run && result.metadata.session == session_;
    if (is_last)
        filled_.notify_all();
    else if (counts)
        filled_.notify_one();
    if (counts) return results_.push_back(std::move(result));
    lock.unlock();
    result.drop();
}

std::optional<FinishedJob> ResultQueue::take(std::optional<std::chrono::nanoseconds> timeout) {
    std::unique_lock lock(mutex_);
    const auto is_ready = [this] { return !results_.empty() || closed_; };
    if (!timeout)
        filled_.wait(lock, [&] { return is_ready() || expected_ == 0; });
    else if (timeout->count() > 0)
        filled_.wait_for(lock, at_most_a_year(*timeout), is_ready);
    if (results_.empty()) return std::nullopt;
    std::optional<FinishedJob> first(std::move(results_.front()));
    results_.pop_front();
    return first;
}

std::optional<FinishedJob> ResultQueue::take_failure() {
    const std::lock_guard lock(mutex_);
    const auto failed = std::find_if(results_.begin(), results_.end(), [](const FinishedJob& result) {
        return result.outcome != Outcome::value;
    });
    if (failed == results_.end()) return std::nullopt;
    std::optional<FinishedJob> first(std::move(*failed));
    results_.erase(failed);
    return first;
}

std::uint64_t ResultQueue::begin_session() {
    const std::lock_guard lock(mutex_);
    for (FinishedJob& result : results_) result.drop();
    results_.clear();
    return ++session_;
}

std::uint64_t ResultQueue::session() const {
    const std::lock_guard lock(mutex_);
    return session_;
}

void ResultQueue::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
}

bool ResultQueue::is_over() const {
    const std::lock_guard lock(mutex_);
    return closed_;
}

std::size_t ResultQueue::size() const {
    const std::lock_guard lock(mutex_);
    return results_.size();
}

void ResultQueue::clear() {
    for (FinishedJob& result : results_) result.drop();
    results_.clear();
}

}  // namespace wq::functions::pool

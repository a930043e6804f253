#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/quiet_thread.h"
#include "slice_queue/slice_feed.h"
#include "work_queue/slice_queue.h"

namespace wq {

class SliceProducer::Impl {
  public:
    Impl(SliceFeed& from, std::size_t capacity) : feed(from), capacity_(capacity) {
        if (capacity == 0) throw std::invalid_argument("a producer's capacity is 0; it is at least 1");
        thread_ = quiet_thread([this] { run(); });
    }
    ~Impl() {
        stop();
        thread_.join();
        std::vector<Slice> left(claimed_.begin(), claimed_.end());
        if (given_ && !feed.by_hand() && !feed.at_most_once()) left.push_back(*given_);
        feed.give_back(left);
    }

    std::optional<Slice> next() {
        std::unique_lock lock(mutex_);
        if (given_ && !feed.by_hand()) feed.commit(*given_);
        given_.reset();
        changed_.wait(lock, stop_.get_token(), [this] { return !claimed_.empty() || ended_; });
        if (stop_.stop_requested()) return std::nullopt;
        if (!claimed_.empty()) {
            given_ = std::move(claimed_.front());
            claimed_.pop_front();
            changed_.notify_all();
        } else if (failure_) {
            std::rethrow_exception(failure_);
        }
        return given_;
    }

    void stop() { stop_.request_stop(); }

    SliceFeed& feed;

  private:
    void run() {
        std::exception_ptr failure;
        try {
            while (claim()) continue;
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        failure_ = failure;
        ended_ = true;
        changed_.notify_all();
    }

    // The lock is free while it waits for a slice: the consumer goes on with those that are here.
    bool claim() {
        {
            std::unique_lock lock(mutex_);
            const auto room = [this] { return claimed_.size() < capacity_; };
            if (!changed_.wait(lock, stop_.get_token(), room)) return false;
        }
        auto slice = feed.take_after(std::nullopt, stop_.get_token());
        if (!slice) return false;
        const std::lock_guard lock(mutex_);
        claimed_.push_back(std::move(*slice));
        changed_.notify_all();
        return true;
    }

    const std::size_t capacity_;
    std::stop_source stop_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Slice> claimed_;   // not consumed
    std::optional<Slice> given_;  // to the consumer, and not committed
    bool ended_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

SliceProducer::SliceProducer(SliceFeed& feed, std::size_t capacity)
    : impl_(std::make_unique<Impl>(feed, capacity)) {}
SliceProducer::SliceProducer(SliceProducer&&) noexcept = default;
SliceProducer& SliceProducer::operator=(SliceProducer&&) noexcept = default;
SliceProducer::~SliceProducer() = default;

SliceFeed& SliceProducer::feed() {
    return impl_->feed;
}
std::optional<Slice> SliceProducer::next() {
    return impl_->next();
}
void SliceProducer::stop() {
    impl_->stop();
}

}  // namespace wq

#include <deque>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <vector>

#include "slices/queue/slice_feed.h"
#include "work_queue/read_ahead.h"
#include "work_queue/slice_queue.h"

namespace wq {

class SliceProducer::Impl {
  public:
    Impl(SliceFeed& from, std::size_t capacity)
        : feed(from), claimed_(capacity, [this](Slice& slice) { return claim(slice); }) {
        if (capacity == 0) throw std::invalid_argument("a producer's capacity is 0; it is at least 1");
    }
    ~Impl() {
        stop();
        const std::deque<Slice> claimed = claimed_.end();
        std::vector<Slice> left(claimed.begin(), claimed.end());
        if (given_ && !feed.by_hand() && !feed.at_most_once()) left.push_back(*given_);
        feed.give_back(left);
    }

    std::optional<Slice> next(std::optional<std::chrono::nanoseconds> limit = {}) {
        if (given_ && !feed.by_hand()) feed.commit(*given_);
        given_.reset();
        Slice slice;
        if (limit ? claimed_.next_at_most(slice, *limit) : claimed_.next(slice)) given_ = std::move(slice);
        return given_;
    }

    void stop() {
        stop_.request_stop();
        claimed_.stop();
    }

    SliceFeed& feed;

  private:
    bool claim(Slice& slice) {
        auto claimed = feed.take_after(std::nullopt, stop_.get_token());
        if (claimed) slice = std::move(*claimed);
        return claimed.has_value();
    }

    std::stop_source stop_;
    std::optional<Slice> given_;  // to the consumer, and not committed
    ReadAhead<Slice> claimed_;    // not consumed
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
std::optional<Slice> SliceProducer::next_at_most(std::chrono::nanoseconds limit) {
    return impl_->next(limit);
}
void SliceProducer::stop() {
    impl_->stop();
}

}  // namespace wq

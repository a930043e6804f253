#include "work_queue/slice_queue.h"

#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <utility>

#include "api/setup_error.h"
#include "base/time.h"
#include "slices/queue/giving.h"
#include "slices/queue/ranks.h"
#include "slices/queue/remote_worker.h"
#include "slices/queue/say.h"
#include "slices/queue/slice_feed.h"

namespace wq {

namespace {

SliceOptions said(SliceOptions options) {
    options.say = slices::queue::say_or_stderr(options.say);
    return options;
}

}  // namespace

std::string Slice::text() const {
    slices::plan::Slice slice{work, std::nullopt};
    if (start && end) slice.records = Interval{*start, *end};
    return slice.text();
}

class SliceQueue::Impl final : public SliceFeed {
  public:
    Impl(std::unique_ptr<slices::queue::Member> member, bool commit_by_hand)
        : member_(std::move(member)), by_hand_(commit_by_hand) {}
    Impl(slices::queue::AmongRanks opened, bool commit_by_hand, MpiSession::Parts& parts)
        : member_(std::move(opened.member)),
          by_hand_(commit_by_hand),
          parts_(&parts),
          uses_counters_(opened.uses_counters) {}
    ~Impl() override {
        const bool lost = member_->leave();
        if (parts_ != nullptr && lost) parts_->lost_a_rank = true;
        if (uses_counters_) parts_->is_using_counters = false;
    }

    bool of_this_process() const { return ::getpid() == pid_; }

    std::optional<Slice> take(std::optional<Instant> until = {}) {
        std::optional<std::uint64_t> done;
        if (!by_hand_) done = given_.exchange(none);
        if (done == none) done.reset();
        const auto slice = taken_after(done, {}, until);
        if (slice && !by_hand_) {
            const std::uint64_t of_other_thread = given_.exchange(slice->position);
            if (of_other_thread != none) taker().commit(of_other_thread);
        }
        return slice;
    }
    std::optional<Slice> take_after(const std::optional<Slice>& done, const std::stop_token& stop) override {
        return taken_after(done ? std::optional(done->position) : std::nullopt, stop);
    }
    bool wait(std::optional<Instant> until = {}) {
        const bool is_over = taker().wait_for_end(until);
        throw_if_lost();
        return is_over;
    }
    bool commit(const Slice& slice) override { return taker().commit(slice.position); }
    bool commit_failed(const Slice& slice) {
        const bool counts = taker().commit(slice.position, true);
        failed_ += counts;
        return counts;
    }
    void give_back(const std::vector<Slice>& slices) override {
        std::vector<std::uint64_t> positions;
        for (const Slice& slice : slices) positions.push_back(slice.position);
        taker().give_back(positions);
    }
    std::uint64_t failed() { return member_->giving() ? member_->giving()->failed() : failed_.load(); }
    void save(const std::string& path) {
        if (!member_->giving()) throw std::logic_error(pass().options().name + ": save() is for rank 0");
        member_->giving()->save(path);
    }
    void add_summary(const SliceSummaryOptions& options) {
        if (member_->giving()) member_->giving()->add_summary(options);
    }
    bool by_hand() const override { return by_hand_; }
    bool at_most_once() const override { return pass().at_most_once(); }
    slices::queue::RecordSource& records() override { return member_->records(); }
    const slices::queue::Pass& pass() const { return member_->pass(); }
    slices::claims::Taker& taker() { return member_->taker(); }

  private:
    std::optional<Slice> taken_after(std::optional<std::uint64_t> done, const std::stop_token& stop,
                                     std::optional<Instant> until = {}) {
        if (const auto position = taker().take_after(done, stop, until)) return pass().slice_at(*position);
        throw_if_lost();
        return std::nullopt;
    }
    void throw_if_lost() {
        if (const auto why = taker().failure())
            throw std::runtime_error(pass().options().name + ": the connection to rank 0 is lost: " + *why);
    }

    static constexpr std::uint64_t none = ~std::uint64_t{0};

    const pid_t pid_ = ::getpid();
    std::unique_ptr<slices::queue::Member> member_;
    bool by_hand_;
    MpiSession::Parts* parts_ = nullptr;  // of a rank
    bool uses_counters_ = false;
    std::atomic<std::uint64_t> given_ = none;  // by take(), and not committed
    std::atomic<std::uint64_t> failed_ = 0;
};

SliceQueue::SliceQueue(std::vector<std::string> works, SliceOptions options)
    : impl_(api::with_setup_errors([&] {
          return std::make_unique<Impl>(slices::queue::open_alone(works, said(options)),
                                        options.commit_by_hand);
      })) {}
SliceQueue::SliceQueue(MpiSession& session, std::vector<std::string> works, SliceOptions options)
    : impl_(api::with_setup_errors([&] {
          return std::make_unique<Impl>(
              slices::queue::open_among_ranks(session.parts(), works, said(options)), options.commit_by_hand,
              session.parts());
      })) {}
SliceQueue::SliceQueue(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SliceQueue SliceQueue::as_worker(const SliceWorkerOptions& options) {
    return SliceQueue(api::with_setup_errors([&] {
        return std::make_unique<Impl>(slices::queue::open_as_worker(options), options.commit_by_hand);
    }));
}

// A child of fork() has neither our threads nor our connection.
SliceQueue::~SliceQueue() {
    if (impl_->of_this_process()) return;
    static_cast<void>(impl_.release());
}

std::optional<Slice> SliceQueue::take() {
    return impl_->take();
}
std::optional<Slice> SliceQueue::take_at_most(std::chrono::nanoseconds limit) {
    return impl_->take(instant_now() + limit);
}
void SliceQueue::wait() {
    impl_->wait();
}
bool SliceQueue::wait_at_most(std::chrono::nanoseconds limit) {
    return impl_->wait(instant_now() + limit);
}
SliceFeed& SliceQueue::feed() {
    return *impl_;
}
SliceProducer SliceQueue::input_producer(std::size_t capacity) {
    return {*impl_, capacity};
}
bool SliceQueue::commit(const Slice& slice) {
    return impl_->commit(slice);
}
bool SliceQueue::commit_failed(const Slice& slice) {
    return impl_->commit_failed(slice);
}
std::uint64_t SliceQueue::failed() const {
    return impl_->failed();
}
void SliceQueue::add_summary(const SliceSummaryOptions& options) {
    impl_->add_summary(options);
}
void SliceQueue::save(const std::string& path) {
    impl_->save(path);
}
bool SliceQueue::is_file(const Slice& slice) {
    const auto is = impl_->records().look(slice);
    if (!is) throw std::runtime_error(options().name + ": " + is.error().message);
    if (*is != slices::queue::WorkIs::nothing) return *is == slices::queue::WorkIs::file;
    return *options().must_exist && slice.work.find("://") == std::string::npos;
}
std::uint64_t SliceQueue::size() const {
    return impl_->pass().plan().size();
}
const SliceOptions& SliceQueue::options() const {
    return impl_->pass().options();
}
std::stop_token SliceQueue::lost() const {
    return impl_->taker().lost();
}
int SliceQueue::rank() const {
    return static_cast<int>(impl_->taker().rank());
}
std::uint64_t SliceQueue::seed() const {
    return impl_->pass().seed();
}
std::uint64_t SliceQueue::taken() const {
    return impl_->taker().taken();
}

}  // namespace wq

#include <unistd.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <vector>

#include "api/setup_error.h"
#include "base/signals.h"
#include "base/time.h"
#include "slices/queue/giving.h"
#include "slices/queue/line_printer.h"
#include "slices/queue/ranks.h"
#include "slices/queue/remote_worker.h"
#include "slices/queue/slice_works.h"
#include "work_queue/read_ahead.h"
#include "work_queue/slice_pipeline.h"
#include "work_queue/slice_queue.h"
#include "work_queue/slice_readers.h"

namespace wq {

// What the consumers of a SliceQueue use of it: producers, readers, pipelines.
class SliceFeed {
  public:
    virtual ~SliceFeed() = default;
    // Waits. Commits `done`, and no other. nullopt: the end, or `stop` is requested. Throws
    // std::runtime_error if rank 0 is lost.
    virtual std::optional<Slice> take_after(const std::optional<Slice>& done,
                                            const std::stop_token& stop) = 0;
    virtual bool commit(const Slice& slice) = 0;
    // They were taken and are not committed: they are for others, or for whoever takes here next.
    virtual void give_back(const std::vector<Slice>& slices) = 0;
    virtual bool by_hand() const = 0;  // consumers commit nothing themselves
    virtual bool at_most_once() const = 0;
    virtual slices::queue::RecordSource& records() = 0;
};

namespace {

SliceOptions with_printer(SliceOptions options) {
    options.say = slices::queue::printer_or_stderr(options.say);
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
        const bool counts = taker().commit(slice.position, slices::claims::SliceEnd::failed);
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
          return std::make_unique<Impl>(slices::queue::open_alone(works, with_printer(options)),
                                        options.commit_by_hand);
      })) {}
SliceQueue::SliceQueue(MpiSession& session, std::vector<std::string> works, SliceOptions options)
    : impl_(api::with_setup_errors([&] {
          return std::make_unique<Impl>(
              slices::queue::open_among_ranks(session.parts(), works, with_printer(options)),
              options.commit_by_hand, session.parts());
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
    const auto is = impl_->records().inspect(slice);
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

namespace {

constexpr std::size_t lines_at_once = 1000;

// The first step: lines of slices as they are taken, and then of the same slices again.
class Lines final : public PipelineStep<std::string> {
  public:
    explicit Lines(SliceProducer slices) : slices_(std::move(slices)) {}

    bool next(std::string& line) override {
        while (given_ == lines_.size()) {
            if (stopped_) return false;
            given_ = 0;
            lines_ = reader_.read_up_to(lines_at_once).values;
            if (lines_.empty() && !open_next()) return false;
        }
        line.assign(lines_[given_++]);
        return !stopped_;
    }
    void remember() override { remembers_ = true; }
    void restart() override { again_ = 0; }
    void stop() override {
        stopped_ = true;
        slices_.stop();
    }

  private:
    bool open_next() {
        if (again_) {
            if (*again_ == taken_.size()) return false;
            reader_.open(slices_, taken_[(*again_)++]);
            return true;
        }
        const auto slice = slices_.next();
        if (!slice) return false;
        reader_.open(slices_, *slice);
        if (remembers_) taken_.push_back(*slice);
        return true;
    }

    SliceProducer slices_;
    LineReader reader_;
    RecordValues lines_;
    std::size_t given_ = 0;  // of lines_
    bool remembers_ = false;
    std::vector<Slice> taken_;
    std::optional<std::size_t> again_;  // the next of these
    std::atomic<bool> stopped_ = false;
};

}  // namespace

std::thread ReadAheadThread::start(std::function<void()> work) {
    return quiet_thread(std::move(work));
}

Pipeline<std::string> lines(SliceProducer slices) {
    return Pipeline<std::string>(std::make_unique<Lines>(std::move(slices)));
}
Pipeline<std::string> lines(const SliceQueue::Dataset& slices) {
    return lines(slices.queue().input_producer());
}

namespace {

Records view_of(const std::string& key_prefix, const slices::sources::RecordBlock& block,
                std::string_view element) {
    Records records;
    records.keys = {key_prefix, block.first, block.size};
    records.values =
        block.starts.empty()
            ? RecordValues(block.bytes, block.size, static_cast<std::size_t>(block.record_bytes), element)
            : RecordValues(block.bytes, block.size, block.starts.data(), block.gap);
    return records;
}

void throw_if_bad(const Status& status) {
    if (!status) throw std::runtime_error(status.error().message);
}

template <class T>
T good(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
}

}  // namespace

class SliceReader::Impl {
  public:
    explicit Impl(slices::queue::ReadAs as) : as_(as) {}

    // A source that is open already is read on.
    void open(SliceFeed& feed, const Slice& slice) {
        const bool moves = slice.start && slice.work == work_ && source_ == &feed.records();
        auto reader = std::exchange(reader_, nullptr);
        if (reader && moves)
            throw_if_bad(reader->move_to(good(feed.records().place_of(slice))));
        else
            reader = good(feed.records().open(slice, as_));
        reader_ = std::move(reader);
        source_ = &feed.records();
        const std::string type = reader_->row_type();
        element_ = type.substr(0, type.find('['));
        work_ = slice.start ? slice.work : "";
    }

    Records read(std::size_t most) {
        if (most == 0) throw std::invalid_argument("read_up_to(0): it reads at least 1 record");
        if (!reader_) return {};
        const auto block = reader_->read(most);
        if (!block) {
            reader_.reset();
            throw std::runtime_error(block.error().message);
        }
        produced_ += block->size;
        return view_of(reader_->key_prefix(), *block, element_);
    }

    std::shared_ptr<const void> keep() { return reader_ ? reader_->keep() : nullptr; }
    std::uint64_t produced() const { return produced_; }
    std::string row_type() const { return reader_ ? reader_->row_type() : ""; }
    bool may_wait() const { return reader_ && reader_->may_wait(); }

  private:
    slices::queue::ReadAs as_;
    std::unique_ptr<slices::sources::RecordReader> reader_;
    std::string element_;                                  // of rows
    std::string work_;                                     // that it can be moved in; empty: none
    const slices::queue::RecordSource* source_ = nullptr;  // where it was opened
    std::uint64_t produced_ = 0;
};

SliceReader::SliceReader(Kind kind, std::uint64_t record_bytes) {
    if (kind == Kind::records && record_bytes == 0)
        throw std::invalid_argument("records of 0 bytes; they have at least 1");
    impl_ =
        std::make_unique<Impl>(slices::queue::ReadAs{kind == Kind::rows      ? slices::sources::Kind::rows
                                                     : kind == Kind::records ? slices::sources::Kind::records
                                                                             : slices::sources::Kind::lines,
                                                     record_bytes});
}
SliceReader::SliceReader(SliceReader&&) noexcept = default;
SliceReader& SliceReader::operator=(SliceReader&&) noexcept = default;
SliceReader::~SliceReader() = default;

Records SliceReader::read_up_to(SliceProducer& slices, std::size_t most) {
    for (;;) {
        const Records records = impl_->read(most);
        if (!records.values.empty()) return records;
        const auto slice = slices.next();
        if (!slice) return {};
        impl_->open(slices.feed(), *slice);
    }
}

void SliceReader::open(SliceQueue& queue, const Slice& slice) {
    impl_->open(queue.feed(), slice);
}
void SliceReader::open(SliceProducer& queue, const Slice& slice) {
    impl_->open(queue.feed(), slice);
}
Records SliceReader::read_up_to(std::size_t most) {
    return impl_->read(most);
}
std::shared_ptr<const void> SliceReader::keep() {
    return impl_->keep();
}
std::uint64_t SliceReader::num_records_produced() const {
    return impl_->produced();
}
std::string SliceReader::row_type() const {
    return impl_->row_type();
}
bool SliceReader::may_wait() const {
    return impl_->may_wait();
}

}  // namespace wq

#include "work_queue/slice_readers.h"

#include <stdexcept>
#include <utility>

#include "slices/queue/slice_feed.h"

namespace wq {

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

#include "slices/sources/h5_row_reader.h"

#include <algorithm>

namespace wq::slices::sources {

namespace {

// With rows of 4 KiB a tenth faster than 256 KiB, whose calls of the library are twice as many; it still
// stays in a processor's cache of 1 MiB.
constexpr std::uint64_t block_bytes = std::uint64_t{512} << 10;
constexpr std::uint64_t most_block_rows = 1 << 16;
constexpr std::uint64_t block_texts = 4096;

}  // namespace

Result<H5RowReader> H5RowReader::open(H5Rows rows, std::optional<Interval> range) {
    const Interval all = range.value_or(Interval{0, rows.rows()});
    if (const Status there = rows.check(all); !there) return there.error();
    return H5RowReader(std::move(rows), all);
}

Status H5RowReader::fill(std::uint64_t wanted) {
    const H5RowType& type = rows_.type();
    const std::uint64_t fit = has_texts() ? block_texts / std::max<std::uint64_t>(type.elements, 1)
                                          : block_bytes / std::max<std::uint64_t>(type.row_bytes(), 1);
    const std::uint64_t count = block_records(wanted, std::min(fit, most_block_rows), left_.size());
    block_ = {left_.first, left_.first + count};
    if (has_texts()) return fill_texts();
    return rows_.read(block_.first, block_.end, bytes_.renew(count * type.row_bytes()));
}

Status H5RowReader::fill_texts() {
    const auto texts = rows_.read_texts(block_.first, block_.end);
    if (!texts) return texts.error();
    const std::uint64_t elements = rows_.type().elements;
    texts_.clear();
    starts_.assign(1, 0);
    for (std::size_t row = 0; row < block_.size(); ++row) {
        for (std::size_t n = 0; n < elements; ++n) {
            if (n > 0) texts_ += '\0';
            texts_ += (*texts)[row * elements + n];
        }
        starts_.push_back(texts_.size());
    }
    return success();
}

Status H5RowReader::move_to(const RecordSpan& place) {
    if (auto there = rows_.check(place.records); !there) return there;
    left_ = place.records;
    block_ = {};
    return success();
}

Result<RecordBlock> H5RowReader::read(std::size_t most) {
    const std::uint64_t count = std::min<std::uint64_t>(most, left_.size());
    if (count == 0) return RecordBlock{};
    if (left_.first + count > block_.end) {
        if (const Status filled = fill(count); !filled) return filled.error();
    }
    const std::size_t at = left_.first - block_.first;
    RecordBlock block;
    block.size = count;
    block.first = left_.first;
    if (has_texts()) {
        block.bytes = texts_;
        block.starts = std::span(starts_).subspan(at, count + 1);
    } else {
        block.record_bytes = rows_.type().row_bytes();
        block.bytes = {bytes_.data() + at * block.record_bytes, count * block.record_bytes};
    }
    left_.first += count;
    return block;
}

}  // namespace wq::slices::sources

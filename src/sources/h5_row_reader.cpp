#include "sources/h5_row_reader.h"

#include <algorithm>

namespace wq::sources {

namespace {

// With rows of 4 KiB a tenth faster than 256 KiB, whose calls of the library are twice as many; it still
// stays in a processor's cache of 1 MiB.
constexpr std::uint64_t block_bytes = std::uint64_t{512} << 10;
// Rows of so many bytes are read one by one into their records: a call of the library takes less time than to
// copy them.
constexpr std::uint64_t long_row_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t most_block_rows = 1 << 16;
constexpr std::uint64_t block_texts = 4096;

}  // namespace

Result<H5RowReader> H5RowReader::open(H5Rows rows, std::optional<Interval> range) {
    const Interval all = range.value_or(Interval{0, rows.rows()});
    if (const Status there = rows.check(all); !there) return there.error();
    return H5RowReader(std::move(rows), all);
}

Status H5RowReader::fill() {
    const bool texts = rows_.type().element == Element::any_text;
    const std::uint64_t fit = texts ? block_texts / std::max<std::uint64_t>(rows_.type().elements, 1)
                                    : block_bytes / std::max<std::uint64_t>(rows_.type().row_bytes(), 1);
    const std::uint64_t count = std::min(std::clamp<std::uint64_t>(fit, 1, most_block_rows), left_.size());
    block_ = {left_.first, left_.first + count};
    if (texts) {
        auto read = rows_.read_texts(block_.first, block_.end);
        if (!read) return read.error();
        texts_ = std::move(*read);
        return success();
    }
    bytes_.resize(count * rows_.type().row_bytes());
    return rows_.read(block_.first, block_.end, bytes_);
}

void H5RowReader::join_texts(std::string& value) const {
    const std::uint64_t elements = rows_.type().elements;
    const std::uint64_t first = (left_.first - block_.first) * elements;
    value.clear();
    for (std::uint64_t n = first; n < first + elements; ++n) {
        if (n > first) value += '\0';
        value += texts_[n];
    }
}

Status H5RowReader::read_value(std::string& value) {
    const std::uint64_t bytes = rows_.type().row_bytes();
    if (bytes >= long_row_bytes) {
        value.resize(bytes);
        return rows_.read(left_.first, left_.first + 1, value);
    }
    if (left_.first >= block_.end) {
        if (auto filled = fill(); !filled) return filled;
    }
    if (rows_.type().element == Element::any_text)
        join_texts(value);
    else
        value.assign(bytes_.data() + (left_.first - block_.first) * bytes, bytes);
    return success();
}

Result<bool> H5RowReader::next(Record& record) {
    if (left_.size() == 0) return false;
    if (const Status read = read_value(record.value); !read) return read.error();
    set_key(record.key, prefix_, left_.first++);
    return true;
}

}  // namespace wq::sources

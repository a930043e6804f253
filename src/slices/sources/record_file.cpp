#include "slices/sources/record_file.h"

#include <algorithm>

#include "base/units.h"

namespace wq::slices::sources {

Result<RecordFile> RecordFile::open(const std::string& path, std::uint64_t record_bytes,
                                    const std::optional<SourceStamp>& planned) {
    if (record_bytes == 0) return Error{ExitCode::usage, "a record of 0 bytes: it has at least 1"};
    auto file = SourceFile::open(path, planned);
    if (!file) return file.error();
    if (const std::uint64_t rest = file->bytes() % record_bytes; rest != 0)
        return file->unreadable("it has " + count_of(file->bytes(), "byte") + ": " +
                                count_of(file->bytes() / record_bytes, "record") + " of " +
                                count_of(record_bytes, "byte") + " and a rest of " + count_of(rest, "byte"));
    return RecordFile(std::move(*file), record_bytes);
}

Status RecordFile::check(Interval range) const {
    if (range.first <= range.end && range.end <= records()) return success();
    return file_.unreadable("there are no records [" + std::to_string(range.first) + ", " +
                            std::to_string(range.end) + "): it has " + count_of(records(), "record"));
}

Status RecordFile::read(std::uint64_t first, std::uint64_t end, std::span<char> to) const {
    if (auto there = check({first, end}); !there) return there;
    if (to.size() != (end - first) * record_bytes_)
        return Error{ExitCode::internal, "a buffer of " + count_of(to.size(), "byte") + " for " +
                                             count_of(end - first, "record") + " of " +
                                             count_of(record_bytes_, "byte")};
    return file_.read(first * record_bytes_, to);
}

Result<BinaryReader> BinaryReader::open(RecordFile file, std::optional<Interval> records) {
    const Interval range = records.value_or(Interval{0, file.records()});
    if (const Status there = file.check(range); !there) return there.error();
    return BinaryReader(std::move(file), range);
}

Status BinaryReader::fill(std::uint64_t wanted) {
    const std::uint64_t count =
        block_records(wanted, source_block_bytes / file_.record_bytes(), left_.size());
    block_ = {left_.first, left_.first + count};
    return file_.read(block_.first, block_.end, bytes_.renew(count * file_.record_bytes()));
}

Status BinaryReader::move_to(const RecordSpan& place) {
    if (auto there = file_.check(place.records); !there) return there;
    left_ = place.records;
    block_ = {};
    return success();
}

Result<RecordBlock> BinaryReader::read(std::size_t most) {
    const std::uint64_t count = std::min<std::uint64_t>(most, left_.size());
    if (count == 0) return RecordBlock{};
    if (left_.first + count > block_.end) {
        if (const Status filled = fill(count); !filled) return filled.error();
    }
    const std::uint64_t bytes = file_.record_bytes();
    RecordBlock block;
    block.size = count;
    block.first = left_.first;
    block.bytes = {bytes_.data() + (left_.first - block_.first) * bytes, count * bytes};
    block.record_bytes = bytes;
    left_.first += count;
    return block;
}

}  // namespace wq::slices::sources

#include "sources/record_file.h"

#include <algorithm>

#include "base/units.h"

namespace wq::sources {

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

Status BinaryReader::fill() {
    const std::uint64_t count =
        std::min(std::max<std::uint64_t>(source_block_bytes / file_.record_bytes(), 1), left_.size());
    bytes_.resize(count * file_.record_bytes());
    block_ = {left_.first, left_.first + count};
    return file_.read(block_.first, block_.end, bytes_);
}

Result<bool> BinaryReader::next(Record& record) {
    if (left_.size() == 0) return false;
    if (left_.first >= block_.end) {
        if (const Status filled = fill(); !filled) return filled.error();
    }
    const std::uint64_t bytes = file_.record_bytes();
    record.value.assign(bytes_.data() + (left_.first - block_.first) * bytes, bytes);
    set_key(record.key, prefix_, left_.first++);
    return true;
}

}  // namespace wq::sources

#include "files/record_file.h"

#include <algorithm>

#include "base/units.h"

namespace wq::files {

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
    block_.resize(count * file_.record_bytes());
    block_first_ = left_.first;
    block_end_ = left_.first + count;
    return file_.read(block_first_, block_end_, block_);
}

Result<std::size_t> BinaryReader::read_up_to(std::size_t most, std::vector<Record>& out) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(most, left_.size()));
    const std::uint64_t bytes = file_.record_bytes();
    for (std::size_t n = 0; n < count; ++n, ++left_.first) {
        if (left_.first >= block_end_) {
            if (const Status filled = fill(); !filled) return filled.error();
        }
        const char* at = block_.data() + (left_.first - block_first_) * bytes;
        out.push_back({file_.path() + "?record=" + std::to_string(left_.first), std::string(at, bytes)});
    }
    return count;
}

}  // namespace wq::files

#include "sources/line_reader.h"

#include <algorithm>
#include <string_view>

#include "base/units.h"
#include "sources/newlines.h"

namespace wq::sources {

Result<LineReader> LineReader::open(SourceFile file, std::optional<Interval> lines, LinePlace from) {
    const Interval range = lines.value_or(Interval{0, 0});
    if (range.first > range.end || from.line > range.first || from.offset > file.bytes())
        return file.unreadable("line " + std::to_string(from.line + 1) + " at byte " +
                               std::to_string(from.offset) + " is no place before the lines " +
                               std::to_string(range.first + 1) + " to " + std::to_string(range.end));
    LineReader reader(std::move(file), lines ? std::optional(range.end) : std::nullopt, from);
    if (lines && range.size() == 0) {
        reader.line_ = range.end;
    } else if (const Status there = reader.skip_to(range.first); !there) {
        return there.error();
    }
    return reader;
}

Status LineReader::skip_to(std::uint64_t line) {
    while (line_ < line) {
        const Passed passed = pass_newlines(std::string_view(buffer_).substr(used_), line - line_);
        line_ += passed.newlines;
        used_ += passed.bytes;
        if (line_ == line) break;
        const auto filled = fill();
        if (!filled) return filled.error();
        if (!*filled) return too_short();
    }
    return success();
}

Result<bool> LineReader::read_line(std::string& line) {
    line.clear();
    for (;;) {
        const std::size_t newline = buffer_.find('\n', used_);
        line.append(buffer_, used_, newline - used_);
        if (newline != std::string::npos) {
            used_ = newline + 1;
            return true;
        }
        const auto filled = fill();
        if (!filled) return filled.error();
        if (!*filled) return !line.empty();
    }
}

Result<bool> LineReader::fill() {
    used_ = 0;
    buffer_.resize(std::min(source_block_bytes, file_.bytes() - offset_));
    if (buffer_.empty()) return false;
    if (const Status read = file_.read(offset_, buffer_); !read) return read.error();
    offset_ += buffer_.size();
    return true;
}

Result<bool> LineReader::next(Record& record) {
    if (end_ && line_ >= *end_) return false;
    auto found = read_line(record.value);
    if (!found) return found;
    if (!*found && end_) return too_short();
    if (*found) set_key(record.key, prefix_, ++line_);
    return found;
}

Error LineReader::too_short() const {
    return file_.unreadable("there is no line " + std::to_string(line_ + 1) +
                            "; the slice is of another file");
}

}  // namespace wq::sources

#include "slices/sources/line_reader.h"

#include <algorithm>
#include <string_view>

#include "base/units.h"
#include "slices/sources/newlines.h"

namespace wq::slices::sources {

Result<LineReader> LineReader::open(SourceFile file, std::optional<Interval> lines, LinePlace from) {
    LineReader reader(std::move(file));
    if (lines) {
        if (const Status there = reader.move_to({*lines, from}); !there) return there.error();
    }
    return reader;
}

Status LineReader::move_to(const Place& place) {
    const Interval lines = place.records;
    if (lines.first > lines.end || place.from.line > lines.first || place.from.offset > file_.bytes())
        return file_.unreadable("line " + std::to_string(place.from.line + 1) + " at byte " +
                                std::to_string(place.from.offset) + " is no place before the lines " +
                                std::to_string(lines.first + 1) + " to " + std::to_string(lines.end));
    end_ = lines.end;
    const bool follows = line_ == lines.first && offset_ > 0;  // the slice before was the one in front
    if (follows) return success();
    used_ = filled_ = 0;
    line_ = place.from.line;
    offset_ = place.from.offset;
    if (lines.size() > 0) return skip_to(lines.first);
    end_ = line_;
    return success();
}

Status LineReader::skip_to(std::uint64_t line) {
    while (line_ < line) {
        const Passed passed = pass_newlines(unread(), line - line_);
        line_ += passed.newlines;
        used_ += passed.bytes;
        if (line_ == line) break;
        used_ = filled_ = 0;
        const auto filled = fill();
        if (!filled) return filled.error();
        if (!*filled) return too_short(line_);
    }
    return success();
}

// A buffer that holds many lines is not moved for each of them, but when at least half of it is used.
void LineReader::drop_used() {
    if (used_ < filled_ - used_) return;
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(used_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
    filled_ -= used_;
    used_ = 0;
}

Result<bool> LineReader::fill() {
    const std::uint64_t bytes = std::min(source_block_bytes, file_.bytes() - offset_);
    if (bytes == 0) return false;
    if (buffer_.size() < filled_ + bytes) buffer_.resize(filled_ + bytes);
    if (const Status read = file_.read(offset_, std::span(buffer_).subspan(filled_, bytes)); !read)
        return read.error();
    offset_ += bytes;
    filled_ += bytes;
    return true;
}

Status LineReader::find_lines(std::size_t most) {
    starts_.assign(1, 0);
    for (std::size_t searched = 0; starts_.size() <= most;) {
        const std::size_t newline = unread().find('\n', searched);
        if (newline != std::string_view::npos) {
            searched = newline + 1;
            starts_.push_back(searched);
            continue;
        }
        searched = unread().size();
        const auto filled = fill();
        if (!filled) return filled.error();
        if (*filled) continue;
        // The last line may have no newline; the next would start after one.
        if (searched > starts_.back()) starts_.push_back(searched + 1);
        break;
    }
    return success();
}

Result<RecordBlock> LineReader::read(std::size_t most) {
    if (end_) most = std::min<std::uint64_t>(most, *end_ - line_);
    drop_used();
    if (const Status found = find_lines(most); !found) return found.error();
    RecordBlock block;
    block.size = starts_.size() - 1;
    if (end_ && block.size < most) return too_short(line_ + block.size);
    block.first = line_ + 1;
    block.bytes = unread().substr(0, starts_.back());
    block.starts = starts_;
    block.gap = 1;
    line_ += block.size;
    used_ += block.bytes.size();
    return block;
}

Error LineReader::too_short(std::uint64_t line) const {
    return file_.unreadable("there is no line " + std::to_string(line + 1) +
                            "; the slice is of another file");
}

}  // namespace wq::slices::sources

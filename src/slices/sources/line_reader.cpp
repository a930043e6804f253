#include "slices/sources/line_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/fields.h"
#include "base/units.h"

namespace wq::slices::sources {

namespace {

constexpr std::size_t step = 64;

// Of g++ and clang; for the x86-64 baseline these are SSE2 instructions.
using Lanes = unsigned char __attribute__((vector_size(16)));

std::uint64_t newlines_in_step(const char* text) {
    Lanes counts{};
    for (std::size_t at = 0; at < step; at += sizeof(Lanes)) {
        Lanes bytes;
        std::memcpy(&bytes, text + at, sizeof bytes);
        counts -= reinterpret_cast<Lanes>(bytes == '\n');  // a lane that is equal has all bits set: -1
    }
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), &counts, sizeof counts);
    // Each byte is at most 8 now. The product's highest byte is the sum of all.
    return ((words[0] + words[1]) * 0x0101010101010101u) >> 56;
}

}  // namespace

Passed pass_newlines(std::string_view text, std::uint64_t wanted) {
    Passed passed;
    while (text.size() - passed.bytes >= step) {
        const std::uint64_t found = newlines_in_step(text.data() + passed.bytes);
        if (passed.newlines + found >= wanted) break;
        passed.newlines += found;
        passed.bytes += step;
    }
    while (passed.newlines < wanted) {
        const std::size_t at = text.find('\n', passed.bytes);
        if (at == std::string_view::npos) return {passed.newlines, text.size()};
        passed = {passed.newlines + 1, at + 1};
    }
    return passed;
}

namespace {

// Counts beginnings of lines, and keeps the place of every step-th.
class Collector {
  public:
    Collector(Interval bytes, std::size_t most_places) : most_(std::max<std::size_t>(most_places, 2)) {
        part_.bytes = bytes;
    }

    // A line begins at `offset`, and it is one to keep: see until_kept().
    void keep(std::uint64_t offset) {
        part_.offsets.push_back(offset);
        ++part_.lines;
        if (part_.offsets.size() > most_) halve();
    }
    void skip(std::uint64_t lines) { part_.lines += lines; }
    // How many beginnings from here the next one to keep is: at least 1.
    std::uint64_t until_kept() const { return part_.step - (part_.lines + part_.step - 1) % part_.step; }
    LinePart take() { return std::move(part_); }

  private:
    void halve() {
        std::size_t kept = 0;
        for (std::size_t n = 0; n < part_.offsets.size(); n += 2) part_.offsets[kept++] = part_.offsets[n];
        part_.offsets.resize(kept);
        part_.step *= 2;
    }

    LinePart part_;
    std::size_t most_;
};

// A line begins after each newline of the text, whose first byte is at `offset`.
void collect(std::string_view text, std::uint64_t offset, Collector& lines) {
    while (!text.empty()) {
        const std::uint64_t wanted = lines.until_kept();
        const Passed passed = pass_newlines(text, wanted);
        text.remove_prefix(passed.bytes);
        offset += passed.bytes;
        if (passed.newlines < wanted) return lines.skip(passed.newlines);
        lines.skip(wanted - 1);
        lines.keep(offset);
    }
}

Error contradiction(const std::string& what) {
    return {ExitCode::bad_input, "the parts of a line index do not fit together: " + what};
}

Status check(const LinePart& part) {
    const std::uint64_t places = part.step == 0 ? 0 : part.lines / part.step + (part.lines % part.step != 0);
    if (part.step == 0 || part.offsets.size() != places || part.lines > part.bytes.size())
        return contradiction(count_of(part.offsets.size(), "place") + " for " + count_of(part.lines, "line"));
    std::uint64_t least = part.bytes.first;
    for (const std::uint64_t offset : part.offsets) {
        if (offset < least || offset >= part.bytes.end)
            return contradiction("a line at byte " + std::to_string(offset));
        least = offset + 1;
    }
    return success();
}

}  // namespace

Interval part_of_bytes(std::uint64_t bytes, std::uint64_t part, std::uint64_t parts) {
    const std::uint64_t each = bytes / parts;
    const std::uint64_t longer = bytes % parts;  // so many parts have a byte more
    const auto start = [&](std::uint64_t n) { return n * each + std::min(n, longer); };
    return {start(part), start(part + 1)};
}

Result<LinePart> index_lines(const SourceFile& file, Interval bytes, std::size_t most_places) {
    if (bytes.first > bytes.end || bytes.end > file.bytes())
        return file.unreadable("there are no bytes [" + std::to_string(bytes.first) + ", " +
                               std::to_string(bytes.end) + "): it has " + count_of(file.bytes(), "byte"));
    Collector lines(bytes, most_places);
    if (bytes.size() == 0) return lines.take();
    if (bytes.first == 0) lines.keep(0);
    // A line begins in the range if the byte before it is a newline.
    std::uint64_t at = bytes.first == 0 ? 0 : bytes.first - 1;
    std::string block;
    block.resize(std::min(source_block_bytes, bytes.end - 1 - at));
    while (at < bytes.end - 1) {
        const std::span<char> text(block.data(), std::min(source_block_bytes, bytes.end - 1 - at));
        if (const Status read = file.read(at, text); !read) return read.error();
        collect({text.data(), text.size()}, at, lines);
        at += text.size();
    }
    return lines.take();
}

Result<LineIndex> LineIndex::join(std::vector<LinePart> parts, std::uint64_t bytes) {
    const auto order = [](const LinePart& part) { return std::pair(part.bytes.first, part.bytes.end); };
    std::sort(parts.begin(), parts.end(),
              [&](const LinePart& one, const LinePart& other) { return order(one) < order(other); });
    LineIndex index;
    std::uint64_t end = 0;
    for (const LinePart& part : parts) {
        if (part.bytes.first != end || part.bytes.end < end)
            return contradiction("one begins at byte " + std::to_string(part.bytes.first) + ", not at byte " +
                                 std::to_string(end));
        if (const Status good = check(part); !good) return good.error();
        for (std::size_t n = 0; n < part.offsets.size(); ++n)
            index.places_.push_back({index.lines_ + n * part.step, part.offsets[n]});
        index.lines_ += part.lines;
        end = part.bytes.end;
    }
    if (end != bytes)
        return contradiction("they end at byte " + std::to_string(end) + " of " + std::to_string(bytes));
    return index;
}

LinePlace LineIndex::place_before(std::uint64_t line) const {
    const auto after =
        std::upper_bound(places_.begin(), places_.end(), line,
                         [](std::uint64_t n, const LinePlace& place) { return n < place.line; });
    return after == places_.begin() ? LinePlace{} : *(after - 1);
}

Result<LineReader> LineReader::open(SourceFile file, std::optional<Interval> lines, LinePlace from) {
    LineReader reader(std::move(file));
    if (lines) {
        if (const Status there = reader.move_to({*lines, from}); !there) return there.error();
    }
    return reader;
}

Status LineReader::move_to(const RecordSpan& place) {
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

template <class V>
void fields(LinePart& part, V& visit) {
    std::vector<std::uint64_t> gaps;  // small numbers take few bytes
    std::uint64_t last = part.bytes.first;
    for (const std::uint64_t offset : part.offsets) gaps.push_back(offset - std::exchange(last, offset));
    visit(part.bytes.first, part.bytes.end, part.lines, part.step, gaps);
    if constexpr (V::reads) {
        part.offsets = std::move(gaps);
        std::partial_sum(part.offsets.begin(), part.offsets.end(), part.offsets.begin());
        for (std::uint64_t& offset : part.offsets) offset += part.bytes.first;
    }
}

void write_part(ByteWriter& out, std::size_t work, const LinePart& part) {
    put_fields(out, work, part);
}

Result<std::vector<std::vector<LinePart>>> parts_in(const std::vector<std::string>& of_ranks,
                                                    std::size_t works) {
    std::vector<std::vector<LinePart>> parts(works);
    for (const std::string& of_rank : of_ranks) {
        for (ByteReader in(of_rank); !in.at_end();) {
            std::size_t work = 0;
            LinePart part;
            get_fields(in, work, part);
            if (!in.ok() || work >= works)
                return Error{ExitCode::internal, "a rank's part of a line index cannot be read"};
            parts[work].push_back(std::move(part));
        }
    }
    return parts;
}

}  // namespace wq::slices::sources

#include "slices/sources/line_index.h"

#include <algorithm>

#include "base/units.h"
#include "slices/sources/newlines.h"

namespace wq::slices::sources {

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

}  // namespace wq::slices::sources

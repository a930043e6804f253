// Finds newlines in text, at the speed of memory also where lines are short: memchr, called once a line,
// takes about as long for 2 bytes as for 60.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "slices/sources/record_reader.h"
#include "slices/sources/source_file.h"

namespace wq::slices::sources {

// After how many bytes the `wanted` newlines (at least 1) are over: one past the last of them. If the text
// has fewer, `newlines` is how many it has, and `bytes` all.
struct Passed {
    std::uint64_t newlines = 0;
    std::size_t bytes = 0;
};
Passed pass_newlines(std::string_view text, std::uint64_t wanted);

// Where the lines of a text file begin. Several processes each index a range of its bytes, and one puts the
// parts together. An index keeps only some places, so that its memory is bounded: about 100,000 for a file
// of any size.
//
// A line ends with its newline. The last one may have none. An empty file has no line.

inline constexpr std::size_t most_line_places = 100'000;

// The lines that begin in a range of a file's bytes.
struct LinePart {
    Interval bytes;
    std::uint64_t lines = 0;
    std::uint64_t step = 1;              // a power of 2
    std::vector<std::uint64_t> offsets;  // in the file, of the lines 0, step, 2 * step, ... of the part
    bool operator==(const LinePart&) const = default;
};

// The range number `part` of `parts` that cut a file of `bytes` bytes evenly.
Interval part_of_bytes(std::uint64_t bytes, std::uint64_t part, std::uint64_t parts);

// Reads the range once. It keeps between half of `most_places` (at least 2) and all, if there are so many
// lines. Error bad_input: the file is shorter than the range, or cannot be read.
Result<LinePart> index_lines(const SourceFile& file, Interval bytes,
                             std::size_t most_places = most_line_places);

class LineIndex {
  public:
    // `parts`: in any order. Error bad_input: together they are not all `bytes` bytes of a file, each once,
    // or one contradicts itself.
    static Result<LineIndex> join(std::vector<LinePart> parts, std::uint64_t bytes);

    std::uint64_t lines() const { return lines_; }
    // The last known place at or before `line`.
    LinePlace place_before(std::uint64_t line) const;
    const std::vector<LinePlace>& places() const { return places_; }

  private:
    std::uint64_t lines_ = 0;
    std::vector<LinePlace> places_;  // ascending
};

// Reads lines of a text file, all or those of a slice.

// Key "FILE:LINE", LINE counts from 1, as TensorFlow's TextLineReader has it. Value: the line without its
// newline. A carriage return before the newline is part of the value.
class LineReader final : public RecordReader {
  public:
    // `lines`: they count from 0; nullopt: all, which needs no index. `from`: a place at or before the first
    // line (LineIndex::place_before()). Error bad_input, by read() too: the file cannot be read, or has
    // fewer lines.
    static Result<LineReader> open(SourceFile file, std::optional<Interval> lines = std::nullopt,
                                   LinePlace from = {});
    Result<RecordBlock> read(std::size_t most) override;
    Status move_to(const RecordSpan& place) override;

  private:
    explicit LineReader(SourceFile file) : RecordReader(file.path() + ':'), file_(std::move(file)) {}
    Status skip_to(std::uint64_t line);
    Status find_lines(std::size_t most);
    // Appends to the buffer. The end of the file: false.
    Result<bool> fill();
    std::string_view unread() const { return {buffer_.data() + used_, filled_ - used_}; }
    void drop_used();
    Error too_short(std::uint64_t line) const;

    SourceFile file_;
    std::optional<std::uint64_t> end_;  // one past the last line; nullopt: that of the file
    std::uint64_t line_ = 0;            // the next one
    std::uint64_t offset_ = 0;          // of the first byte after the buffer
    std::vector<char> buffer_;
    std::size_t used_ = 0;             // of the buffer
    std::size_t filled_ = 0;           // of the buffer
    std::vector<std::size_t> starts_;  // of lines after the used part, and of the one after them
};

// What ranks tell each other of the text files that they have indexed together.

void write_part(ByteWriter& out, std::size_t work, const LinePart& part);
// The parts of each of so many works, from what the ranks have put. Error internal: it is none of this. The
// parts may contradict themselves: see LineIndex::join().
Result<std::vector<std::vector<LinePart>>> parts_in(const std::vector<std::string>& of_ranks,
                                                    std::size_t works);

}  // namespace wq::slices::sources

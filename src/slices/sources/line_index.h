// Where the lines of a text file begin. Several processes each index a range of its bytes, and one puts the
// parts together. An index keeps only some places, so that its memory is bounded: about 100,000 for a file
// of any size.
//
// A line ends with its newline. The last one may have none. An empty file has no line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "slices/sources/record_reader.h"
#include "slices/sources/source_file.h"

namespace wq::slices::sources {

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

}  // namespace wq::slices::sources

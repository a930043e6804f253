// Reads lines of a text file, all or those of a slice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "slices/sources/line_index.h"
#include "slices/sources/record_reader.h"
#include "slices/sources/source_file.h"

namespace wq::slices::sources {

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
    Status move_to(const Place& place) override;

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

}  // namespace wq::slices::sources

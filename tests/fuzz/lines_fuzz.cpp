// A text file, cut. However its bytes are divided for indexing, the joined index is that of the whole file;
// and however its lines are cut into slices, each is read once. The parts that ranks exchange come back the
// same; any bytes are parts or rejected, and an index made of them leads no reader beyond its file.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "require.h"
#include "slices/sources/line_reader.h"
#include "slices/sources/source_file.h"

namespace {

using wq::ByteReader;
using wq::Interval;
using wq::fuzz::require;
using namespace wq::slices::sources;

// One file for all inputs, without a name.
class Text {
  public:
    explicit Text(std::string_view bytes) {
        static const int file = ::memfd_create("text", MFD_CLOEXEC);
        path_ = "/proc/self/fd/" + std::to_string(file);
        require(::ftruncate(file, 0) == 0 &&
                    ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
                "the file is written");
    }
    SourceFile open() const {
        auto file = SourceFile::open(path_);
        require(file.ok(), "the file opens");
        return std::move(*file);
    }

  private:
    std::string path_;
};

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

LineIndex indexed(const SourceFile& file, std::uint64_t parts, std::size_t places) {
    std::vector<LinePart> found;
    std::vector<std::string> of_ranks;
    for (std::uint64_t n = 0; n < parts; ++n) {
        const auto part = index_lines(file, part_of_bytes(file.bytes(), n, parts), places);
        require(part.ok(), "a part is indexed");
        found.push_back(*part);
        wq::ByteWriter out;
        write_part(out, 0, *part);
        of_ranks.push_back(out.take());
    }
    auto told = parts_in(of_ranks, 1);
    require(told.ok() && told->front() == found, "parts come back the same");
    std::reverse(found.begin(), found.end());
    auto index = LineIndex::join(std::move(found), file.bytes());
    require(index.ok(), "the parts fit together");
    return std::move(*index);
}

void check_places(const LineIndex& index, std::string_view text) {
    std::uint64_t line = 0;
    std::uint64_t at = 0;
    for (const LinePlace& place : index.places()) {
        for (; at < place.offset; ++at) line += text[at] == '\n' ? 1 : 0;
        require(line == place.line && (at == 0 || text[at - 1] == '\n'),
                "a place is the beginning of its line");
    }
}

// The lines from `first` on, by a reader that reads at most `most` at once.
void read_slice(LineReader& reader, const std::vector<std::string_view>& lines, Interval slice,
                std::size_t most) {
    for (std::uint64_t next = slice.first;;) {
        const auto block = reader.read(most);
        require(block.ok() && block->size <= most, "a slice is read");
        if (block->size == 0) return require(next == slice.end, "all of it");
        require(block->first == next + 1, "a key is the line's number");
        for (std::size_t n = 0; n < block->size; ++n)
            require(next < slice.end && block->value(n) == lines[next++], "a line is what it is in the file");
    }
}

void check(std::string_view text, ByteReader how) {
    const std::uint64_t parts = 1 + how.u8() % 17;
    const std::size_t places = how.u8() % 20;
    const std::size_t most = 1 + how.u8() % 7;
    const Text file(text);
    const std::vector<std::string_view> lines = split(text);
    const LineIndex index = indexed(file.open(), parts, places);
    require(index.lines() == lines.size(), "each line is counted once");
    check_places(index, text);
    auto one = LineReader::open(file.open(), Interval{0, 0});
    auto back = LineReader::open(file.open(), Interval{0, 0});
    require(one.ok() && back.ok(), "a reader opens");
    for (std::uint64_t first = 0; first < lines.size();) {
        const std::uint64_t end = std::min<std::uint64_t>(first + how.u8() % 16, lines.size());
        const Interval slice{first, how.ok() ? end : lines.size()};
        auto other = LineReader::open(file.open(), slice, index.place_before(first));
        require(other.ok(), "a reader opens at any slice");
        read_slice(*other, lines, slice, most);
        require(one->move_to({slice, index.place_before(first)}).ok(), "a reader moves to any slice");
        read_slice(*one, lines, slice, most);
        const Interval before{first / 2, std::min<std::uint64_t>(first / 2 + 2, lines.size())};
        require(back->move_to({before, index.place_before(before.first)}).ok(), "a reader moves back");
        read_slice(*back, lines, before, most);
        first = slice.end;
    }
}

void check_garbled(std::string_view text, const std::string& words) {
    auto parts = parts_in({words}, 2);
    if (!parts) return;
    auto index = LineIndex::join(std::move(parts->front()), text.size());
    if (!index) return;
    require(index->lines() <= text.size(), "there are no more lines than bytes");
    const Text file(text);
    for (std::uint64_t line = 0; line < index->lines(); ++line) {
        auto reader = LineReader::open(file.open(), Interval{line, line + 1}, index->place_before(line));
        if (reader) static_cast<void>(reader->read(2));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string_view how = bytes.substr(0, 20);
    const std::string_view text = bytes.substr(how.size());
    check(text, ByteReader(how));
    // Across the end of a reader's block.
    if (!text.empty() && text.size() < 200 && text.front() % 16 == 0) {
        std::string many(source_block_bytes - text.size() / 2, text.back() % 2 == 0 ? 'x' : '\n');
        if (text.back() % 2 == 0 || text.size() % 64 == 0) check(many.append(text), ByteReader(how));
    }
    const std::size_t length = text.empty() ? 0 : static_cast<unsigned char>(text.front()) % text.size();
    check_garbled(text.substr(length), std::string(text.substr(0, length)));
    return 0;
}

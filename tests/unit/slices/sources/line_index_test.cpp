// However a file is cut, each of its lines is indexed once and read once.
#include "slices/sources/line_reader.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "support/folder.h"
#include "unit/slices/sources/records_of.h"

namespace wq::slices::sources {
namespace {

using test::Folder;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Record;
using testing::rest_of;

SourceFile opened(const std::string& path) {
    return SourceFile::open(path).or_throw();
}

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

// Lines of all kinds: empty ones, ended by CRLF, with NULs, and some of many bytes.
std::string random_text(std::mt19937_64& random) {
    std::string text;
    for (std::uint64_t n = random() % 300; n > 0; --n) {
        const std::uint64_t most = random() % 3 == 0 ? 3 : random() % 50 == 0 ? 5000 : 80;
        for (std::uint64_t letters = random() % most; letters > 0; --letters)
            text += "abc\r\0x "[random() % 7];
        if (random() % 5 == 0) text += '\r';
        text += '\n';
    }
    if (random() % 2 == 0) text += "no newline at its end";
    return text;
}

std::vector<std::string> values_of(const std::vector<Record>& records) {
    std::vector<std::string> values;
    for (const Record& record : records) values.push_back(record.value);
    return values;
}

std::string error_of(const Result<LineReader>& reader) {
    return reader ? "" : reader.error().message;
}

Result<LineIndex> index_in_parts(const std::string& path, std::uint64_t parts, std::size_t most_places) {
    const SourceFile file = opened(path);
    std::vector<LinePart> found;
    for (std::uint64_t n = parts; n > 0; --n) {
        const auto part = index_lines(file, part_of_bytes(file.bytes(), n - 1, parts), most_places);
        if (!part) return part.error();
        EXPECT_LE(part->offsets.size(), std::max<std::size_t>(most_places, 2));
        found.push_back(*part);
    }
    return LineIndex::join(std::move(found), file.bytes());
}

TEST(Newlines, AreCountedAsOneByOne) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 2000; ++round) {
        std::string text(random() % 400, '\0');
        const std::uint64_t rarity = 1 + random() % 60;
        for (char& letter : text) letter = random() % rarity == 0 ? '\n' : static_cast<char>(random());
        const std::uint64_t wanted = 1 + random() % 40;
        Passed expected;
        while (expected.newlines < wanted && expected.bytes < text.size())
            expected.newlines += text[expected.bytes++] == '\n' ? 1 : 0;
        const Passed passed = pass_newlines(text, wanted);
        ASSERT_EQ(passed.newlines, expected.newlines);
        ASSERT_EQ(passed.bytes, expected.bytes);
    }
}

TEST(LineIndex, PartsOfBytesCoverAll) {
    for (const std::uint64_t bytes : {0ul, 1ul, 7ul, 1000ul, ~0ul}) {
        for (const std::uint64_t parts : {1ul, 2ul, 7ul, 64ul}) {
            std::uint64_t end = 0;
            for (std::uint64_t n = 0; n < parts; ++n) {
                const Interval part = part_of_bytes(bytes, n, parts);
                ASSERT_EQ(part.first, end);
                end = part.end;
                ASSERT_LE(part.size() - bytes / parts, 1u);
            }
            ASSERT_EQ(end, bytes);
        }
    }
}

TEST(LineIndex, OfAnyPartsHasEachLine) {
    const Folder folder;
    std::mt19937_64 random(2);
    for (int round = 0; round < 300; ++round) {
        const std::string text = random_text(random);
        write_file(folder / "text", text);
        const auto index = index_in_parts(folder / "text", 1 + random() % 9, 2 + random() % 40);
        ASSERT_TRUE(index) << index.error().message;
        ASSERT_EQ(index->lines(), split_lines(text).size());
        std::uint64_t line = 0;
        std::uint64_t offset = 0;
        for (const LinePlace& place : index->places()) {
            for (; offset < place.offset; ++offset) line += text[offset] == '\n' ? 1 : 0;
            ASSERT_TRUE(offset == 0 || text[offset - 1] == '\n');
            ASSERT_EQ(place, (LinePlace{line, offset}));
        }
    }
}

TEST(LineIndex, GivesThePlaceBeforeALine) {
    const Folder folder;
    write_file(folder / "text", "1\n22\n333\n4444\n55555\n");
    const auto index = index_in_parts(folder / "text", 1, 3);  // each second
    ASSERT_TRUE(index);
    EXPECT_THAT(index->places(), ElementsAre(LinePlace{0, 0}, LinePlace{2, 5}, LinePlace{4, 14}));
    EXPECT_EQ(index->place_before(0), (LinePlace{0, 0}));
    EXPECT_EQ(index->place_before(3), (LinePlace{2, 5}));
    EXPECT_EQ(index->place_before(99), (LinePlace{4, 14}));
}

TEST(LineIndex, OfManyLinesHasFewPlaces) {
    const Folder folder;
    write_file(folder / "text", std::string(1'000'000, '\n'));
    const auto part = index_lines(opened(folder / "text"), {0, 1'000'000}, 1000);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->lines, 1'000'000u);
    EXPECT_EQ(part->step, 1024u);
    EXPECT_EQ(part->offsets.size(), 977u);
    EXPECT_EQ(part->offsets.back(), 976u * 1024);
}

TEST(LineIndex, RefusesPartsThatDoNotFit) {
    const LinePart first{{0, 10}, 3, 2, {0, 5}};
    const LinePart second{{10, 20}, 1, 1, {12}};
    EXPECT_TRUE(LineIndex::join({second, first}, 20));
    EXPECT_TRUE(LineIndex::join({}, 0));
    const auto why = [](std::vector<LinePart> parts) {
        const auto index = LineIndex::join(std::move(parts), 20);
        return index ? "" : index.error().message;
    };
    EXPECT_THAT(why({first}), HasSubstr("they end at byte 10 of 20"));
    EXPECT_THAT(why({second}), HasSubstr("one begins at byte 10, not at byte 0"));
    EXPECT_THAT(why({first, first, second}), HasSubstr("one begins at byte 0, not at byte 10"));
    EXPECT_THAT(why({first, {{10, 20}, 3, 1, {12}}}), HasSubstr("1 place for 3 lines"));
    EXPECT_THAT(why({first, {{10, 20}, 1, 0, {12}}}), HasSubstr("1 place for 1 line"));
    EXPECT_THAT(why({first, {{10, 20}, 30, 30, {12}}}), HasSubstr("1 place for 30 lines"));
    EXPECT_THAT(why({first, {{10, 20}, 2, 1, {12, 12}}}), HasSubstr("a line at byte 12"));
    EXPECT_THAT(why({first, {{10, 20}, 1, 1, {20}}}), HasSubstr("a line at byte 20"));
}

TEST(LineIndex, RefusesARangeBeyondTheEnd) {
    const Folder folder;
    write_file(folder / "text", "1\n2\n");
    const auto part = index_lines(opened(folder / "text"), {2, 5});
    ASSERT_FALSE(part);
    EXPECT_EQ(part.error().message,
              "cannot read " + folder / "text" + ": there are no bytes [2, 5): it has 4 bytes");
    EXPECT_EQ(part.error().code, ExitCode::bad_input);
}

TEST(LineReader, ReadsAllLinesWithoutAnIndex) {
    const Folder folder;
    write_file(folder / "text", std::string("one\r\n\n a\0b\nlast", 15));
    auto reader = LineReader::open(opened(folder / "text"));
    ASSERT_TRUE(reader);
    const std::string name = folder / "text";
    EXPECT_THAT(rest_of(*reader, 3),
                ElementsAre(Record{name + ":1", "one\r"}, Record{name + ":2", ""},
                            Record{name + ":3", std::string(" a\0b", 4)}, Record{name + ":4", "last"}));
    EXPECT_EQ(reader->read(5)->size, 0u);
}

TEST(LineReader, ReadsNothingOfAnEmptyFile) {
    const Folder folder;
    write_file(folder / "empty", "");
    auto reader = LineReader::open(opened(folder / "empty"));
    ASSERT_TRUE(reader);
    EXPECT_TRUE(rest_of(*reader, 3).empty());
    const auto index = index_in_parts(folder / "empty", 3, 10);
    ASSERT_TRUE(index);
    EXPECT_EQ(index->lines(), 0u);
    EXPECT_EQ(index->place_before(0), LinePlace{});
}

TEST(LineReader, ReadsEachLineOnceInAnySlices) {
    const Folder folder;
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; ++round) {
        const std::string text = random_text(random);
        write_file(folder / "text", text);
        const auto index = index_in_parts(folder / "text", 1 + random() % 4, 2 + random() % 40);
        ASSERT_TRUE(index);
        std::vector<Record> all;
        for (std::uint64_t first = 0; first < index->lines();) {
            const std::uint64_t end = std::min(first + random() % 60, index->lines());
            auto reader =
                LineReader::open(opened(folder / "text"), Interval{first, end}, index->place_before(first));
            ASSERT_TRUE(reader) << reader.error().message;
            const auto some = rest_of(*reader, 1 + random() % 20);
            ASSERT_EQ(some.size(), end - first);
            all.insert(all.end(), some.begin(), some.end());
            first = end;
        }
        ASSERT_EQ(values_of(all), split_lines(text));
        for (std::size_t n = 0; n < all.size(); ++n)
            ASSERT_EQ(all[n].key, folder / "text" + ":" + std::to_string(n + 1));
    }
}

TEST(LineReader, ReadsLinesOfManyBlocks) {
    const Folder folder;
    const std::string text = std::string(3'000'000, 'a') + "\nb\n" + std::string(262'143, 'c') + "\n" +
                             std::string(262'144, 'd') + "\n" + std::string(1'000'000, 'e');
    write_file(folder / "text", text);
    auto reader = LineReader::open(opened(folder / "text"));
    EXPECT_EQ(values_of(rest_of(*reader, 2)), split_lines(text));
    const auto index = index_in_parts(folder / "text", 7, 2);
    ASSERT_TRUE(index) << index.error().message;
    EXPECT_EQ(index->lines(), 5u);
    auto last = LineReader::open(opened(folder / "text"), Interval{4, 5}, index->place_before(4));
    EXPECT_EQ(values_of(rest_of(*last, 2)), (std::vector{std::string(1'000'000, 'e')}));
}

TEST(LineReader, RefusesLinesThatAreNotThere) {
    const Folder folder;
    write_file(folder / "text", "1\n2\n");
    EXPECT_EQ(error_of(LineReader::open(opened(folder / "text"), Interval{3, 4})),
              "cannot read " + folder / "text" + ": there is no line 3; the slice is of another file");
    EXPECT_THAT(error_of(LineReader::open(opened(folder / "text"), Interval{0, 1}, LinePlace{1, 2})),
                HasSubstr("line 2 at byte 2 is no place before the lines 1 to 1"));
    EXPECT_THAT(error_of(LineReader::open(opened(folder / "text"), Interval{2, 1})), HasSubstr("no place"));
    auto reader = LineReader::open(opened(folder / "text"), Interval{1, 4});
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->read(1)->size, 1u);
    const auto more = reader->read(1);
    ASSERT_FALSE(more);
    EXPECT_THAT(more.error().message, HasSubstr("there is no line 3"));
}

TEST(LineReader, SaysThatItsFileWasTruncated) {
    const Folder folder;
    write_file(folder / "text", std::string(1'000'000, '\n'));
    auto reader = LineReader::open(opened(folder / "text"));
    ASSERT_TRUE(reader);
    ASSERT_EQ(::truncate((folder / "text").c_str(), 300'000), 0);
    const auto all = reader->read(2'000'000);
    ASSERT_FALSE(all);
    EXPECT_THAT(all.error().message, HasSubstr("it was truncated meanwhile; it had 1,000,000 bytes"));
}

}  // namespace
}  // namespace wq::slices::sources

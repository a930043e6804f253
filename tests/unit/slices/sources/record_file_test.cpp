#include "slices/sources/record_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "support/folder.h"
#include "unit/slices/sources/records_of.h"

namespace wq::slices::sources {
namespace {

using test::Folder;
using ::testing::ElementsAre;
using testing::Record;

std::string error_of(const Result<RecordFile>& file) {
    return file ? "" : file.error().message;
}

std::string write_numbers(const Folder& folder, std::uint64_t count) {
    std::ofstream out(folder / "numbers", std::ios::binary);
    for (std::uint64_t n = 0; n < count; ++n) out.write(reinterpret_cast<const char*>(&n), sizeof n);
    return folder / "numbers";
}

TEST(RecordFile, CountsAndReadsItsRecords) {
    const Folder folder;
    const auto file = RecordFile::open(write_numbers(folder, 1000), 8);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->records(), 1000u);
    EXPECT_EQ(file->stamp().records, 1000u);
    std::vector<std::uint64_t> some(3);
    ASSERT_TRUE(file->read(997, 1000, {reinterpret_cast<char*>(some.data()), 24}));
    EXPECT_THAT(some, ElementsAre(997, 998, 999));
    EXPECT_TRUE(file->read(1000, 1000, {}));
    EXPECT_EQ(RecordFile::open(write_numbers(folder, 0), 8)->records(), 0u);
}

TEST(RecordFile, RefusesWhatIsNotThere) {
    const Folder folder;
    const auto file = RecordFile::open(write_numbers(folder, 10), 8);
    ASSERT_TRUE(file);
    std::vector<char> buffer(16);
    const Status beyond = file->read(9, 11, buffer);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().message,
              "cannot read " + folder / "numbers" + ": there are no records [9, 11): it has 10 records");
    EXPECT_EQ(beyond.error().code, ExitCode::bad_input);
    EXPECT_FALSE(file->read(2, 1, buffer));
    EXPECT_FALSE(file->read(2, 3, buffer));  // another size
}

TEST(RecordFile, NamesTheRestOfARaggedFile) {
    const Folder folder;
    EXPECT_EQ(error_of(RecordFile::open(write_numbers(folder, 1000), 9)),
              "cannot read " + folder / "numbers" +
                  ": it has 8,000 bytes: 888 records of 9 bytes and a rest of 8 bytes");
    EXPECT_EQ(error_of(RecordFile::open(write_numbers(folder, 1), 0)),
              "a record of 0 bytes: it has at least 1");
}

TEST(BinaryReader, ReadsEachRecordOnceInAnySlices) {
    const Folder folder;
    std::mt19937_64 random(1);
    const std::string path = write_numbers(folder, 100'000);
    for (const std::uint64_t bytes : {8u, 800u, 400'000u}) {
        const std::uint64_t records = RecordFile::open(path, bytes)->records();
        std::string all;
        std::uint64_t number = 0;
        for (std::uint64_t first = 0; first < records;) {
            const std::uint64_t end = std::min(first + random() % (records / 2 + 1), records);
            auto reader = BinaryReader::open(RecordFile::open(path, bytes).or_throw(), Interval{first, end});
            ASSERT_TRUE(reader) << reader.error().message;
            for (;;) {
                const auto some = testing::records_in(*reader, reader->read(1 + random() % 3000).or_throw());
                if (some.empty()) break;
                for (const Record& record : some) {
                    ASSERT_EQ(record.key, path + "?record=" + std::to_string(number++));
                    all += record.value;
                }
            }
            ASSERT_EQ(number, end);
            first = end;
        }
        ASSERT_TRUE(all == test::read_file(path));
    }
}

TEST(BinaryReader, ReadsAllOrRefusesWhatIsNotThere) {
    const Folder folder;
    const std::string path = write_numbers(folder, 100);
    auto reader = BinaryReader::open(RecordFile::open(path, 8).or_throw());
    EXPECT_EQ(reader->read(1000)->size, 100u);
    EXPECT_EQ(reader->read(1000)->size, 0u);
    const auto beyond = BinaryReader::open(RecordFile::open(path, 8).or_throw(), Interval{90, 101});
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().message,
              "cannot read " + path + ": there are no records [90, 101): it has 100 records");
}

}  // namespace
}  // namespace wq::slices::sources

#include "records/journal/journal.h"

#include <gmock/gmock.h>

#include "unit/records/journal/records_testing.h"

namespace wq::records::journal {
namespace {

using test::write_file;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::record_number;
using testing::sample_number;
using testing::TempDir;
using testing::worker_number;

RunHeader header() {
    return {2, "run-7", "tasks.sh", 0xFEEDFACECAFEBEEF, 1'700'000'000'000'000};
}

std::string journal_of(std::uint64_t tasks) {
    std::string bytes = encode_header(header());
    bytes += encode_record(worker_number(1));
    for (std::uint64_t i = 0; i < tasks; ++i) bytes += encode_record(record_number(i));
    bytes += encode_record(sample_number(3));
    return bytes;
}

// Every record in its encoding, to compare two journals.
struct Collected : JournalVisitor {
    std::vector<std::string> records;
    void task(const TaskRecord& record) override { records.push_back(encode_record(record)); }
    void worker(const WorkerRecord& record) override { records.push_back(encode_record(record)); }
    void sample(const Sample& sample) override { records.push_back(encode_record(sample)); }
};

TEST(Journal, GivesBackWhatWasWritten) {
    const TempDir dir;
    write_file(dir.file("journal"), journal_of(30));
    const auto contents = read_journal(dir.file("journal"));
    ASSERT_TRUE(contents.ok()) << contents.error().message;
    EXPECT_EQ(contents->header.run_id, "run-7");
    EXPECT_EQ(contents->header.source_fingerprint, 0xFEEDFACECAFEBEEF);
    ASSERT_EQ(contents->tasks.size(), 30u);
    for (std::uint64_t i = 0; i < 30; ++i) {
        EXPECT_EQ(encode_record(contents->tasks[i]), encode_record(record_number(i))) << i;
    }
    ASSERT_EQ(contents->workers.size(), 1u);
    EXPECT_EQ(contents->workers[0].address, "node1:rank 1");
    EXPECT_FALSE(contents->torn);
    EXPECT_EQ(contents->valid_bytes, journal_of(30).size());
}

TEST(Journal, KeepsTheLastOfEachWorker) {
    const TempDir dir;
    WorkerRecord left = worker_number(2);
    left.left_us = 5;
    write_file(dir.file("journal"),
               encode_header(header()) + encode_record(worker_number(2)) + encode_record(left));
    const auto contents = read_journal(dir.file("journal"));
    ASSERT_TRUE(contents.ok());
    ASSERT_EQ(contents->workers.size(), 1u);
    EXPECT_EQ(contents->workers[0].left_us, 5);
}

TEST(Journal, EveryTruncationGivesAPrefixOfTheRecords) {
    const std::string whole = journal_of(6);
    Collected all;
    ASSERT_TRUE(scan_journal_bytes(whole, "journal", all).ok());
    const std::size_t header_bytes = encode_header(header()).size();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        Collected some;
        const auto scan = scan_journal_bytes(std::string_view(whole).substr(0, size), "journal", some);
        if (size < header_bytes) {
            EXPECT_FALSE(scan.ok()) << size;
            continue;
        }
        ASSERT_TRUE(scan.ok()) << size << scan.error().message;
        ASSERT_LE(some.records.size(), all.records.size());
        EXPECT_TRUE(std::equal(some.records.begin(), some.records.end(), all.records.begin())) << size;
        EXPECT_EQ(scan->torn, scan->valid_bytes != size) << size;
    }
}

TEST(Journal, EveryFlippedByteIsRefusedWithItsOffsetOrIsTheTornTail) {
    const std::string whole = journal_of(6);
    Collected all;
    ASSERT_TRUE(scan_journal_bytes(whole, "journal", all).ok());
    const std::size_t last_record = whole.size() - all.records.back().size();
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const int flip : {0x01, 0x80, 0xFF}) {
            std::string damaged = whole;
            damaged[at] = static_cast<char>(damaged[at] ^ flip);
            Collected some;
            const auto scan = scan_journal_bytes(damaged, "journal", some);
            if (at < last_record) {
                ASSERT_FALSE(scan.ok()) << "byte " << at;
                EXPECT_EQ(scan.error().code, ExitCode::bad_input);
            } else {
                ASSERT_TRUE(scan.ok()) << "byte " << at;
                EXPECT_TRUE(scan->torn);
                EXPECT_EQ(scan->valid_bytes, last_record);
                EXPECT_EQ(some.records.size(), all.records.size() - 1);
            }
        }
    }
}

// With checksums alone, 250,000 frames of 1 MB would take longer than this test may.
TEST(Journal, ATornTailFullOfPlausibleFramesIsReadWithoutAChecksumOfEach) {
    const std::string whole = journal_of(6);
    std::string torn = whole;
    const std::string_view frame("\x00\x00\x10\x00\x02\x02\x02\x02\x02\x02", 10);
    for (int i = 0; i < 250'000; ++i) torn += frame;
    Collected some;
    const auto scan = scan_journal_bytes(torn, "journal", some);
    ASSERT_TRUE(scan.ok()) << scan.error().message;
    EXPECT_TRUE(scan->torn);
    EXPECT_EQ(scan->valid_bytes, whole.size());
}

TEST(Journal, NamesTheByteOfTheDamage) {
    const TempDir dir;
    std::string bytes = journal_of(6);
    const std::size_t second = encode_header(header()).size() + encode_record(worker_number(1)).size();
    bytes[second + 12] ^= 0x10;
    write_file(dir.file("journal"), bytes);
    const auto contents = read_journal(dir.file("journal"));
    ASSERT_FALSE(contents.ok());
    EXPECT_EQ(contents.error().message,
              dir.file("journal") + ": damaged at byte " + std::to_string(second) +
                  "; restore it from a copy, or start again in another run directory");
}

TEST(Journal, RefusesWhatIsNoJournalAndOtherVersions) {
    const TempDir dir;
    EXPECT_THAT(read_journal(dir.file("none")).error().message, EndsWith("No such file or directory"));
    write_file(dir.file("text"), "echo hello\n");
    EXPECT_THAT(read_journal(dir.file("text")).error().message, HasSubstr("not the journal of a run"));
    RunHeader later = header();
    later.version = 3;
    write_file(dir.file("later"), encode_header(later));
    EXPECT_THAT(read_journal(dir.file("later")).error().message, HasSubstr("a journal of format 3"));
}

}  // namespace
}  // namespace wq::records::journal

// The journal byte by byte, as in version 1: today's run can be resumed by a later program.
#include <gmock/gmock.h>

#include <charconv>

#include "records/journal/journal.h"
#include "unit/records/journal/records_testing.h"

namespace wq::records::journal {
namespace {

const RunHeader bytes_header{1, "run-7", "tasks.sh", 0x0123456789ABCDEF, 1'700'000'000'000'000};
constexpr std::string_view header_bytes =
    "57514a4f55524e31"  // WQJOURN1
    "2200000058feed56"  // length, checksum
    "01010572756e2d37087461736b732e7368ef9bafcdf8acd191018080f28183898506";

WorkerRecord worker() {
    return {WorkerId(2), "node1", "node1:rank 2", 2, {4, 2000, 100, 1}, 1'700'000'000'000'001, 0, "", 3};
}
constexpr std::string_view worker_bytes =
    "27000000a0f927f8"
    "0302056e6f6465310c6e6f6465313a72616e6b20320208a01fc801028280f28183898506000003";

TaskRecord task() {
    TaskRecord record;
    record.task = TaskId(300);
    record.key = {0xFEEDFACECAFEBEEF};
    record.attempt = 2;
    record.final = false;
    record.worker = WorkerId(2);
    record.line = 17;
    record.category = CategoryId(1);
    record.given = {1, 500, 0, 0};
    record.submitted_us = 1'700'000'000'000'002;
    record.dispatched_us = 1'700'000'000'000'003;
    record.received_us = 1'700'000'000'000'009;
    record.outcome = {engine::model::Ending::timed_out,
                      -1,
                      9,
                      1'700'000'000'000'004,
                      5,
                      6,
                      7,
                      8,
                      9,
                      10,
                      11,
                      12,
                      "one\nline"};
    return record;
}
constexpr std::string_view task_bytes =
    "4b00000087559cc5"
    "02ac02effdfad7ecd9fef6fe01020002110102e80700008480f281838985068680f281838985069280f2818389850602"
    "01128880f281838985060a0c0e1012140b0c086f6e650a6c696e65";

Sample sample() {
    Sample made;
    made.time_us = 1'700'000'000'000'010;
    made.stats.time_when_started = 1'700'000'000'000'000;
    made.stats.workers_connected = 1;
    made.stats.tasks_done = 300;
    return made;
}
constexpr std::string_view sample_bytes =
    "5700000039f12b07"
    "049480f281838985068080f28183898506020000000000000000000000000000000000d8040000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000";

const CategoryRecord category{CategoryId(1), "align"};
constexpr std::string_view category_bytes = "080000009c539691050105616c69676e";

CategoryRecord changed() {
    CategoryRecord record = category;
    record.mode = engine::model::AllocationMode::min_waste;
    record.max = {1500, 4096, -1, 0};
    record.min.memory_mb = 512;
    record.first.cores = engine::model::whole_worker;
    record.changed_us = 1'700'000'000'000'011;
    return record;
}
constexpr std::string_view changed_bytes =
    "200000008e416e80"
    "050105616c69676e02b817804001000180080101030101019680f28183898506";

TaskRecord watched() {
    TaskRecord record = task();
    record.outcome.measured.emplace().usage = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    record.outcome.measured->exceeded.disk_mb = 300;
    return record;
}
constexpr std::string_view watched_bytes =
    "5f000000ae496194"
    "02ac02effdfad7ecd9fef6fe01020002110102e80700008480f281838985068680f281838985069280f2818389850602"
    "01128880f281838985060a0c0e1012140b0c086f6e650a6c696e65"
    "020406080a0c0e10121416181a1c1e0101d80401";

std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<std::uint8_t>(c);
        text += {digits[byte >> 4], digits[byte & 15]};
    }
    return text;
}

std::string unhex(std::string_view text) {
    std::string bytes;
    for (std::size_t at = 0; at < text.size(); at += 2) {
        std::uint8_t byte = 0;
        std::from_chars(text.data() + at, text.data() + at + 2, byte, 16);
        bytes += static_cast<char>(byte);
    }
    return bytes;
}

TEST(JournalBytes, AreWrittenSo) {
    EXPECT_EQ(hex(encode_header(bytes_header)), header_bytes);
    EXPECT_EQ(hex(encode_record(worker())), worker_bytes);
    EXPECT_EQ(hex(encode_record(task())), task_bytes);
    EXPECT_EQ(hex(encode_record(sample())), sample_bytes);
    EXPECT_EQ(hex(encode_record(category)), category_bytes);
    EXPECT_EQ(hex(encode_record(changed())), changed_bytes);
    EXPECT_EQ(hex(encode_record(watched())), watched_bytes);
}

struct CollectedBytes : JournalVisitor {
    std::string again;
    void task(const TaskRecord& record) override {
        EXPECT_EQ(record.outcome.ending, engine::model::Ending::timed_out);
        EXPECT_EQ(record.outcome.exit_code, -1);
        EXPECT_EQ(record.outcome.bytes_written, 10);
        EXPECT_EQ(record.outcome.stderr_bytes, 12u);
        EXPECT_EQ(record.outcome.reason, "one\nline");
        EXPECT_EQ(record.given, (engine::model::Resources{1, 500, 0, 0}));
        again += encode_record(record);
    }
    void worker(const WorkerRecord& record) override { again += encode_record(record); }
    void sample(const Sample& sample) override { again += encode_record(sample); }
    void category(const CategoryRecord& record) override { again += encode_record(record); }
};

TEST(JournalBytes, AreReadSo) {
    const std::string records = std::string(worker_bytes) + std::string(category_bytes) +
                                std::string(task_bytes) + std::string(sample_bytes) +
                                std::string(changed_bytes) + std::string(watched_bytes);
    CollectedBytes collected;
    const auto scan = scan_journal_bytes(unhex(std::string(header_bytes) + records), "journal", collected);
    ASSERT_TRUE(scan.ok()) << scan.error().message;
    EXPECT_FALSE(scan->torn);
    EXPECT_EQ(scan->header.source_fingerprint, bytes_header.source_fingerprint);
    EXPECT_EQ(hex(collected.again), records);
}

struct Samples : JournalVisitor {
    std::vector<std::int64_t> lost;
    void task(const TaskRecord&) override {}
    void worker(const WorkerRecord&) override {}
    void sample(const Sample& sample) override { lost.push_back(sample.stats.tasks_lost_attempts); }
};

// The first journals had none.
TEST(JournalBytes, FiguresThatTheManualDoesNotHaveStandBehindTheOthersOrNotAtAll) {
    Sample with = sample();
    with.stats.tasks_lost_attempts = 5;
    Samples samples;
    const auto scan =
        scan_journal_bytes(unhex(std::string(header_bytes) + std::string(sample_bytes)) + encode_record(with),
                           "journal", samples);
    ASSERT_TRUE(scan.ok()) << scan.error().message;
    EXPECT_FALSE(scan->torn);
    EXPECT_THAT(samples.lost, ::testing::ElementsAre(0, 5));
}

struct Departures : JournalVisitor {
    std::vector<Departure> all;
    void task(const TaskRecord&) override {}
    void worker(const WorkerRecord& record) override { all.push_back(record.departure); }
    void sample(const Sample&) override {}
};

// The first journals did not have it.
TEST(JournalBytes, SayHowAWorkerLeftOrDoNot) {
    WorkerRecord left = worker();
    left.left_us = left.joined_us + 9;
    left.departure = Departure::idle_out;
    const std::string now = encode_record(left);
    std::string before = now.substr(0, now.size() - 1);
    const auto length = static_cast<std::uint32_t>(before.size() - frame_bytes);
    store_u32(before.data(), length);
    store_u32(before.data() + 4, frame_checksum(length, std::string_view(before).substr(frame_bytes)));
    Departures departures;
    const auto scan =
        scan_journal_bytes(unhex(std::string(header_bytes)) + now + before, "journal", departures);
    ASSERT_TRUE(scan.ok()) << scan.error().message;
    EXPECT_FALSE(scan->torn);
    EXPECT_THAT(departures.all, ::testing::ElementsAre(Departure::idle_out, Departure::unknown));
}

}  // namespace
}  // namespace wq::records::journal

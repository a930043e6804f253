// The journal byte by byte: today's run can be resumed by a later program, and that of an earlier program by
// this one.
#include <gmock/gmock.h>

#include <charconv>

#include "records/journal/journal.h"
#include "unit/records/journal/records_testing.h"

namespace wq::records::journal {
namespace {

// ---- version 1 ----

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

TEST(JournalBytes, OfTheFirstVersionAreStillWrittenSo) {
    EXPECT_EQ(hex(encode_header(bytes_header)), header_bytes);
    EXPECT_EQ(hex(encode_record(sample())), sample_bytes);
    EXPECT_EQ(hex(encode_record(category)), category_bytes);
    EXPECT_EQ(hex(encode_record(changed())), changed_bytes);
}

// Every record as this version encodes it.
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
    void ask(const AskRecord& record) override { again += encode_record(record); }
    void worker_change(const WorkerChangeRecord& record) override { again += encode_record(record); }
    void waiting(const WaitingRecord& record) override { again += encode_record(record); }
};

// What they lack is not recorded.
TEST(JournalBytes, OfTheFirstVersionAreReadSo) {
    const std::string records = std::string(worker_bytes) + std::string(category_bytes) +
                                std::string(task_bytes) + std::string(sample_bytes) +
                                std::string(changed_bytes) + std::string(watched_bytes);
    CollectedBytes collected;
    const auto scan = scan_journal_bytes(unhex(std::string(header_bytes) + records), "journal", collected);
    ASSERT_TRUE(scan.ok()) << scan.error().message;
    EXPECT_FALSE(scan->torn);
    EXPECT_EQ(scan->header.version, 1u);
    EXPECT_EQ(scan->header.source_fingerprint, bytes_header.source_fingerprint);
    EXPECT_EQ(watched().outcome.measured->disk_wait, engine::model::unsaid);
    EXPECT_EQ(hex(collected.again),
              hex(encode_record(worker()) + encode_record(category) + encode_record(task()) +
                  encode_record(sample()) + encode_record(changed()) + encode_record(watched())));
}

// ---- version 2 ----

WorkerRecord stay() {
    WorkerRecord record = worker();
    record.left_us = 1'700'000'000'000'020;
    record.departure = Departure::idle_out;
    record.process_started_us = 1'700'000'000'000'012;
    record.job_started_us = 1'700'000'000'000'013;
    record.job_ends_us = 1'700'000'000'000'014;
    record.allocated_cores = 64;
    record.job = "4711_3";
    return record;
}

TaskRecord attempt() {
    TaskRecord record = watched();
    record.ready_us = 1'700'000'000'000'015;
    record.ask = AskId(7);
    record.outcome.files = {1'700'000'000'000'016, 1'700'000'000'000'017};
    record.outcome.measured->disk_wait = 125;
    return record;
}

AskRecord ask() {
    AskRecord record{AskId(7), {}, {"a", "function:b"}};
    record.needs = {Count::of_thousandths(1500), 512, -1, 1, 0};
    return record;
}

const WorkerChangeRecord change{1'700'000'000'000'018, WorkerId(2), WorkerChange::left, "gone"};
const WaitingRecord waiting{1'700'000'000'000'019, AskId(7), engine::model::WaitReason::program, 5000};

RunHeader header_of_2() {
    RunHeader header = bytes_header;
    header.version = 2;
    return header;
}

constexpr std::string_view bytes_of_2 =
    "57514a4f55524e31"                                                                      // WQJOURN1
    "220000002983a6b801020572756e2d37087461736b732e7368ef9bafcdf8acd191018080f28183898506"  // run
    "50000000757e9d310702056e6f6465310c6e6f6465313a72616e6b20320208a01fc801028280f28183898506a880f281"  // stay
    "838985060003019880f281838985069a80f281838985069c80f28183898506800106343731315f33"
    "16000000b4ac6d930807b917800801020201610a66756e6374696f6e3a62"                                      // ask
    "7a000000ebac777f06ac02effdfad7ecd9fef6fe01020002110102e80700008480f281838985068680f2818389850692"  // attempt
    "80f281838985060201128880f281838985060a0c0e1012140b0c086f6e650a6c696e659e80f2818389850607a080f281"
    "83898506a280f28183898506020406080a0c0e10121416181a1c1e0101d80401fa01"
    "100000007b8812dd09a480f28183898506020704676f6e65"  // worker_change
    "0d000000ca3f1ebc0aa680f2818389850607098827";       // waiting

TEST(JournalBytes, AreWrittenSo) {
    EXPECT_EQ(hex(encode_header(header_of_2()) + encode_record(stay()) + encode_record(ask()) +
                  encode_record(attempt()) + encode_record(change) + encode_record(waiting)),
              bytes_of_2);
}

TEST(JournalBytes, AreReadSo) {
    CollectedBytes collected;
    const std::string bytes = unhex(bytes_of_2);
    const auto scan = scan_journal_bytes(bytes, "journal", collected);
    ASSERT_TRUE(scan.ok()) << scan.error().message;
    EXPECT_FALSE(scan->torn);
    EXPECT_EQ(scan->header.version, 2u);
    EXPECT_EQ(hex(encode_header(scan->header) + collected.again), bytes_of_2);
}

struct AllOfThem : CollectedBytes {
    AskRecord asked;
    WorkerChangeRecord changed;
    WaitingRecord waited;
    TaskRecord ended;
    WorkerRecord stayed;
    void task(const TaskRecord& record) override { ended = record; }
    void worker(const WorkerRecord& record) override { stayed = record; }
    void ask(const AskRecord& record) override { asked = record; }
    void worker_change(const WorkerChangeRecord& record) override { changed = record; }
    void waiting(const WaitingRecord& record) override { waited = record; }
};

TEST(JournalBytes, HaveEachField) {
    AllOfThem read;
    ASSERT_TRUE(scan_journal_bytes(unhex(bytes_of_2), "journal", read).ok());
    EXPECT_EQ(read.ended.ready_us, attempt().ready_us);
    EXPECT_EQ(read.ended.ask, AskId(7));
    EXPECT_EQ(read.ended.outcome.files, attempt().outcome.files);
    EXPECT_EQ(read.ended.outcome.measured, attempt().outcome.measured);
    EXPECT_EQ(read.stayed.departure, Departure::idle_out);
    EXPECT_EQ(read.stayed.process_started_us, stay().process_started_us);
    EXPECT_EQ(read.stayed.job_started_us, stay().job_started_us);
    EXPECT_EQ(read.stayed.job_ends_us, stay().job_ends_us);
    EXPECT_EQ(read.stayed.allocated_cores, 64);
    EXPECT_EQ(read.stayed.job, "4711_3");
    EXPECT_EQ(read.asked.ask, AskId(7));
    EXPECT_EQ(read.asked.needs, ask().needs);
    EXPECT_EQ(read.asked.features, ask().features);
    EXPECT_EQ(read.changed.time_us, change.time_us);
    EXPECT_EQ(read.changed.worker, WorkerId(2));
    EXPECT_EQ(read.changed.change, WorkerChange::left);
    EXPECT_EQ(read.changed.why, "gone");
    EXPECT_EQ(read.waited.time_us, waiting.time_us);
    EXPECT_EQ(read.waited.ask, AskId(7));
    EXPECT_EQ(read.waited.reason, engine::model::WaitReason::program);
    EXPECT_EQ(read.waited.tasks, 5000u);
}

// A record of version 1 with another payload behind it: resuming a run of an earlier program appends to its
// journal.
TEST(JournalBytes, OfBothVersionsMayFollowEachOther) {
    CollectedBytes collected;
    const auto scan = scan_journal_bytes(unhex(std::string(header_bytes) + std::string(task_bytes)) +
                                             encode_record(attempt()) + encode_record(waiting),
                                         "journal", collected);
    ASSERT_TRUE(scan.ok()) << scan.error().message;
    EXPECT_FALSE(scan->torn);
    EXPECT_EQ(hex(collected.again),
              hex(encode_record(task()) + encode_record(attempt()) + encode_record(waiting)));
}

std::string framed(RecordKind kind, std::string_view payload) {
    std::string bytes(frame_bytes, '\0');
    bytes += static_cast<char>(kind);
    bytes += payload;
    const auto length = static_cast<std::uint32_t>(bytes.size() - frame_bytes);
    store_u32(bytes.data(), length);
    store_u32(bytes.data() + 4, frame_checksum(length, std::string_view(bytes).substr(frame_bytes)));
    return bytes;
}

TEST(JournalBytes, OfUnknownReasonsChangesAndAsksAreDamage) {
    const auto reads = [](const std::string& record) {
        CollectedBytes collected;
        return scan_journal_bytes(encode_header(header_of_2()) + record, "journal", collected).ok();
    };
    const auto body = [](const std::string& record) { return record.substr(frame_bytes + 1); };
    std::string change_body = body(encode_record(change));
    EXPECT_TRUE(reads(framed(RecordKind::worker_change, change_body)));
    const std::size_t kind_at = change_body.find("\x04gone") - 1;
    change_body[kind_at] = static_cast<char>(static_cast<int>(last_of(WorkerChange{})) + 1);
    EXPECT_FALSE(reads(framed(RecordKind::worker_change, change_body)));
    AskRecord beyond = ask();
    EXPECT_TRUE(reads(framed(RecordKind::ask, body(encode_record(beyond)))));
    beyond.ask = AskId(most_asks + 1);
    EXPECT_FALSE(reads(framed(RecordKind::ask, body(encode_record(beyond)))));
    beyond.ask = no_ask;
    EXPECT_FALSE(reads(framed(RecordKind::ask, body(encode_record(beyond)))));
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
    const std::string before = unhex(worker_bytes).substr(frame_bytes + 1);
    const std::string with = before + static_cast<char>(Departure::idle_out);
    Departures departures;
    const auto scan = scan_journal_bytes(
        unhex(header_bytes) + framed(RecordKind::worker, with) + framed(RecordKind::worker, before),
        "journal", departures);
    ASSERT_TRUE(scan.ok()) << scan.error().message;
    EXPECT_FALSE(scan->torn);
    EXPECT_THAT(departures.all, ::testing::ElementsAre(Departure::idle_out, Departure::unknown));
}

}  // namespace
}  // namespace wq::records::journal

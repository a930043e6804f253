#include "records/recorder/recorder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "recorder_testing.h"
#include "records/hdf5/h5_reader.h"
#include "records/hdf5/rows.h"
#include "records/hdf5/stats_log.h"
#include "records/journal/journal.h"
#include "records/journal/output_log.h"

namespace wq::records::recorder {
namespace {

using journal::testing::record_number;
using journal::testing::sample_number;
using journal::testing::TempDir;
using journal::testing::worker_number;
using test::read_file;
using test::write_file;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::options_in;
using testing::recorded_number;
using ::testing::StartsWith;
using testing::wait_for;

std::size_t count_lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string as_bytes(const hdf5::TaskRow& row) {
    return {reinterpret_cast<const char*>(&row), sizeof row};
}

void expect_tasks(const std::string& directory, std::uint64_t count) {
    const auto journal = journal::read_journal(directory + "/journal");
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    ASSERT_EQ(journal->tasks.size(), count);
    const auto reader = hdf5::StatsReader::open(directory + "/stats.h5");
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    const auto rows = reader->tasks();
    ASSERT_EQ(rows->size(), count);
    for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(journal::encode_record(journal->tasks[i]), journal::encode_record(record_number(i))) << i;
        ASSERT_EQ(as_bytes((*rows)[i]), as_bytes(hdf5::row_of(record_number(i)))) << i;
        const auto output = journal::read_task_output(directory, TaskId(i));
        ASSERT_TRUE(output.ok()) << output.error().message;
        ASSERT_EQ(output->out, recorded_number(i).output.out);
        ASSERT_EQ(output->err, recorded_number(i).output.err);
    }
    EXPECT_EQ(count_lines(read_file(directory + "/joblog.tsv")), count + 1);
}

TEST(Recorder, GathersRecordsUntilItsNextWriteOrIsHurried) {
    const TempDir dir;
    RecorderOptions options = options_in(dir.path());
    options.write_interval = std::chrono::hours(1);
    auto recorder = open_recorder(options);
    ASSERT_TRUE(recorder.ok()) << recorder.error().message;
    const auto acknowledges = [&](std::uint64_t count) {
        return wait_for(**recorder, [&] { return (*recorder)->acknowledged() == count; });
    };
    for (std::uint64_t i = 0; i < 2;
         ++i) {  // the second one comes within the hour, whatever was written first
        (*recorder)->task(recorded_number(i));
        (*recorder)->write_at_once();
        ASSERT_TRUE(acknowledges(i + 1));
    }
    for (std::uint64_t i = 2; i < 1100; ++i) (*recorder)->task(recorded_number(i));
    ASSERT_TRUE(wait_for(**recorder, [&] { return (*recorder)->acknowledged() >= 1026; }));  // a full batch
    ASSERT_TRUE((*recorder)->close().ok());
    EXPECT_EQ((*recorder)->acknowledged(), 1100u);
    expect_tasks(dir.path(), 1100);
}

TEST(Recorder, WritesEveryFileOfTheRun) {
    const TempDir dir;
    RecorderOptions options = options_in(dir.path());
    options.stats_log = dir.file("stats.log");
    auto recorder = open_recorder(options);
    ASSERT_TRUE(recorder.ok()) << recorder.error().message;
    for (std::uint32_t i = 0; i < 4; ++i) (*recorder)->worker(worker_number(i));
    (*recorder)->transaction(5, "TASK 1 WAITING default FIRST_RESOURCES {}");
    (*recorder)->category(CategoryId(2), "sort");
    for (std::uint64_t i = 0; i < 3000; ++i) (*recorder)->task(recorded_number(i));
    (*recorder)->sample(sample_number(1));
    journal::WorkerRecord left = worker_number(2);
    left.left_us = left.joined_us + 9;
    left.departure = journal::Departure::asked;
    (*recorder)->worker(left);
    EXPECT_TRUE(wait_for(**recorder, [&] { return (*recorder)->acknowledged() == 3000; }));
    EXPECT_EQ((*recorder)->trouble(), std::nullopt);
    ASSERT_TRUE((*recorder)->close().ok());
    EXPECT_THAT((*recorder)->notices(), IsEmpty());
    EXPECT_EQ((*recorder)->backlog_bytes(), 0u);

    expect_tasks(dir.path(), 3000);
    const auto reader = hdf5::StatsReader::open(dir.file("stats.h5"));
    EXPECT_EQ(reader->attribute("list"), "tasks.sh");
    EXPECT_EQ(reader->manager()->size(), 1u);
    const auto workers = reader->workers();
    ASSERT_EQ(workers->size(), 4u);
    EXPECT_EQ(workers->at(2).left, left.left_us);
    EXPECT_EQ(workers->at(3).left, 0);
    EXPECT_THAT(read_file(dir.file("joblog.tsv")),
                HasSubstr("\n2\tnode1\t1700000000.000\t0.000\t0\t5\t0\t0\tcommand 1\n"));
    EXPECT_EQ(read_file(dir.file("stats.log")).substr(0, hdf5::stats_log_heading().size()),
              hdf5::stats_log_heading());
    const std::string transactions = read_file(dir.file("transactions.log"));
    EXPECT_THAT(transactions, StartsWith("# time manager_pid MANAGER START|END\n"));
    EXPECT_THAT(transactions, HasSubstr(" TASK 1 WAITING default FIRST_RESOURCES {}\n"));
    EXPECT_THAT(transactions, HasSubstr(" CATEGORY default FIRST FIXED {}\n"));
    EXPECT_THAT(transactions, HasSubstr(" WORKER worker-2 node2:rank_2 DISCONNECTION EXPLICIT\n"));
    EXPECT_THAT(transactions, HasSubstr(" MANAGER END\n"));
}

TEST(Recorder, KnowsWhatHoldsForACategoryAndWhatWasMeasured) {
    const TempDir dir;
    RecorderOptions options = options_in(dir.path());
    options.summaries = dir.file("reports");
    journal::CategoryRecord align{CategoryId(1), "align", engine::model::AllocationMode::max};
    align.max = {1500, 4096, -1, -1};
    align.first.memory_mb = engine::model::whole_worker;
    align.changed_us = 77;
    Recorded watched = recorded_number(0);
    watched.record.category = CategoryId(1);
    watched.record.outcome.measured.emplace().usage = {1'250, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    watched.record.outcome.measured->exceeded.memory_mb = 2;
    Recorded lost = recorded_number(1);
    lost.record.outcome = {};
    lost.record.outcome.ending = engine::model::Ending::worker_lost;
    for (const bool resumed : {false, true}) {
        SCOPED_TRACE(resumed);
        auto recorder = open_recorder(options);
        ASSERT_TRUE(recorder.ok()) << recorder.error().message;
        if (!resumed) {
            (*recorder)->category(align.category, align.name);
            (*recorder)->category_changed(align);
            (*recorder)->task(watched);
            (*recorder)->task(lost);
        }
        ASSERT_TRUE((*recorder)->close().ok());
        EXPECT_THAT((*recorder)->notices(), IsEmpty());
        const auto reader = hdf5::StatsReader::open(dir.file("stats.h5"));
        const auto categories = reader->categories();
        ASSERT_EQ(categories->size(), 2u);
        const hdf5::CategoryRow& row = categories->at(1);
        EXPECT_EQ(row.name.view(), "align");
        EXPECT_EQ(row.mode.view(), "max");
        EXPECT_EQ(row.max_cores, 1.5);
        EXPECT_EQ(row.max_memory, 4096);
        EXPECT_EQ(row.min_disk, -1);
        EXPECT_EQ(row.first_memory, -2);
        EXPECT_EQ(row.changed, 77);
        const auto tasks = reader->tasks();
        EXPECT_EQ(tasks->at(0).cores_peak, 1.25);
        EXPECT_EQ(tasks->at(0).memory_peak, 3);
        EXPECT_EQ(tasks->at(0).bytes_received, 10);
        EXPECT_EQ(tasks->at(0).processes, 14);
        EXPECT_EQ(tasks->at(0).exceeded, 2);
        EXPECT_EQ(tasks->at(1).memory_peak, -1);
        EXPECT_EQ(tasks->at(1).exceeded, -1);
    }
    EXPECT_THAT(read_file(dir.file("transactions.log")), HasSubstr(" CATEGORY align FIRST MAX {}\n"));
    const std::string report =
        read_file(dir.file("reports/wq-" + std::to_string(::getpid()) + "-task-1.summary"));
    EXPECT_THAT(report, HasSubstr("\"category\": \"align\""));
    EXPECT_THAT(report, HasSubstr("\"command\": \"command 0\""));
    std::size_t reports = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.file("reports")))
        ++reports;
    EXPECT_EQ(reports, 1u);
}

TEST(Recorder, TakesRecordsFromManyThreads) {
    const TempDir dir;
    auto recorder = open_recorder(options_in(dir.path()));
    ASSERT_TRUE(recorder.ok());
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < 500; ++i) (*recorder)->task(recorded_number(t * 500 + i));
        });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE((*recorder)->close().ok());
    EXPECT_EQ((*recorder)->acknowledged(), 2000u);
    EXPECT_EQ(journal::read_journal(dir.file("journal"))->tasks.size(), 2000u);
}

// A list that is what it was.
struct SameList : ListedTasks {
    std::optional<TaskId> find(journal::TaskKey key) const override {
        return TaskId((key.value - 1) * 0xF1DE83E19937733Du);  // record_number() backwards
    }
    std::uint64_t line(TaskId task) const override { return task.value() + 10; }
    std::string command(TaskId task) const override { return "command " + std::to_string(task.value()); }
};

TEST(Recorder, GoesOnWithAnEarlierJournalAndRebuildsWhatIsDerived) {
    for (const std::string lost : {"", "stats.h5", "joblog.tsv", "output.idx", "transactions.log"}) {
        const TempDir dir;
        for (std::uint64_t part = 0; part < 3; ++part) {
            RecorderOptions options = options_in(dir.path());
            const SameList list;
            auto recorder = open_recorder(options, &list);
            ASSERT_TRUE(recorder.ok()) << recorder.error().message;
            (*recorder)->worker(worker_number(1));
            for (std::uint64_t i = part * 100; i < part * 100 + 100; ++i)
                (*recorder)->task(recorded_number(i));
            (*recorder)->sample(sample_number(static_cast<std::int64_t>(part)));
            ASSERT_TRUE((*recorder)->close().ok());
            EXPECT_EQ((*recorder)->acknowledged(), 100u);
            if (part == 1 && lost == "joblog.tsv") {
                write_file(dir.file(lost), read_file(dir.file(lost)).substr(0, 500));
            } else if (part == 1 && !lost.empty()) {
                std::filesystem::remove(dir.file(lost));
            }
            // What a crash leaves of a record.
            if (part == 1) {
                const std::string next = journal::encode_record(record_number(200));
                write_file(dir.file("journal"),
                           read_file(dir.file("journal")) + next.substr(0, next.size() / 2));
            }
        }
        if (lost != "output.idx") expect_tasks(dir.path(), 300);
        const auto reader = hdf5::StatsReader::open(dir.file("stats.h5"));
        EXPECT_EQ(reader->manager()->size(), 3u);
        EXPECT_EQ(reader->workers()->size(), 1u);
        const std::string joblog = read_file(dir.file("joblog.tsv"));
        for (std::uint64_t i = 0; i < 300; ++i) {
            EXPECT_THAT(joblog, HasSubstr("\tcommand " + std::to_string(i) + "\n")) << lost;
        }
    }
}

TEST(Recorder, RefusesADamagedJournalAndLeavesItAlone) {
    const TempDir dir;
    {
        auto recorder = open_recorder(options_in(dir.path()));
        for (std::uint64_t i = 0; i < 10; ++i) (*recorder)->task(recorded_number(i));
        ASSERT_TRUE((*recorder)->close().ok());
    }
    std::string damaged = read_file(dir.file("journal"));
    damaged[damaged.size() / 2] ^= 1;
    write_file(dir.file("journal"), damaged);
    const auto recorder = open_recorder(options_in(dir.path()));
    ASSERT_FALSE(recorder.ok());
    EXPECT_THAT(recorder.error().message, HasSubstr("damaged at byte"));
    EXPECT_EQ(read_file(dir.file("journal")), damaged);
    EXPECT_EQ(count_lines(read_file(dir.file("joblog.tsv"))), 11u);
}

TEST(Recorder, TroubleWithADerivedFileIsSaidOnceAndEndsOnlyIt) {
    const TempDir dir;
    std::filesystem::create_directories(dir.file("stats.h5/in/the/way"));
    std::filesystem::create_directories(dir.file("transactions.log"));
    auto recorder = open_recorder(options_in(dir.path()));
    ASSERT_TRUE(recorder.ok()) << recorder.error().message;
    for (std::uint64_t i = 0; i < 10; ++i) (*recorder)->task(recorded_number(i));
    ASSERT_TRUE((*recorder)->close().ok());
    const auto notices = (*recorder)->notices();
    ASSERT_EQ(notices.size(), 2u);
    EXPECT_THAT(notices[0], HasSubstr("stats.h5"));
    EXPECT_THAT(notices[1], HasSubstr("transactions.log"));
    EXPECT_EQ(journal::read_journal(dir.file("journal"))->tasks.size(), 10u);
    EXPECT_EQ(count_lines(read_file(dir.file("joblog.tsv"))), 11u);
}

TEST(Recorder, CannotBeginWhereNothingCanBeWritten) {
    const auto recorder = open_recorder(options_in("/proc/self/nowhere"));
    ASSERT_FALSE(recorder.ok());
    EXPECT_THAT(recorder.error().message, HasSubstr("/proc/self/nowhere/journal"));
}

}  // namespace
}  // namespace wq::records::recorder

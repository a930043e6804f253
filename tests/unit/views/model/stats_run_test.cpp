#include "views/model/stats_run.h"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <string>

#include "records/hdf5/h5_writer.h"
#include "records/hdf5/rows.h"
#include "records/journal/journal.h"
#include "records/journal/run_status.h"
#include "support/folder.h"
#include "unit/records/hdf5/python.h"
#include "unit/records/journal/records_testing.h"
#include "views/model/account.h"
#include "views/model/journal_run.h"
#include "views/model/run_rows.h"

namespace wq::views::model {
namespace {

namespace journal = records::journal;
using engine::model::WaitReason;
using journal::WorkerChange;
using journal::testing::TempDir;
using journal::testing::worker_number;
using records::hdf5::Dataset;
using records::hdf5::H5Writer;
using records::hdf5::row_of;
using test::read_file;
using test::write_file;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallMicros start = 1'700'000'000'000'000;
constexpr WallMicros second = micros_per_second;

// What a run records, in the order of its journal.
struct Records {
    std::vector<journal::CategoryRecord> categories;
    std::vector<journal::AskRecord> asks;
    std::vector<journal::WorkerRecord> workers;
    std::vector<journal::Sample> samples;
    std::vector<journal::WorkerChangeRecord> changes;
    std::vector<journal::WaitingRecord> waiting;
    std::vector<journal::TaskRecord> tasks;
    std::vector<records::hdf5::TransferRow> transfers{};  // not in a journal
};

journal::TaskRecord task_number(std::uint64_t i) {
    journal::TaskRecord task;
    task.task = TaskId(i);
    task.line = i + 1;
    task.worker = WorkerId(3);
    task.category = CategoryId(1);
    task.given = {Count::of_thousandths(1500), 512, 100, 1};
    task.submitted_us = start + second;
    task.ready_us = start + 2 * second;
    task.dispatched_us = start + 3 * second;
    task.received_us = start + 9 * second;
    task.ask = journal::AskId(1);
    task.outcome.started_us = start + 5 * second;
    task.outcome.wall_us = 2 * second;
    task.outcome.user_us = second, task.outcome.system_us = 1000;
    task.outcome.peak_memory_kb = 2049;
    task.outcome.files = {start + 4 * second, start + 8 * second};
    return task;
}

journal::Sample sample_at(WallMicros time, WallMicros session = start) {
    journal::Sample sample;
    sample.time_us = time;
    sample.stats.time_when_started = session;
    sample.stats.tasks_done = 7;
    return sample;
}

Records small_records() {
    Records all;
    all.categories = {{CategoryId(0), "default"}, {CategoryId(1), "analysis"}};
    journal::AskRecord ask{journal::AskId(1), {}, {"big"}};
    ask.needs.cores = Count::of_thousandths(1500);
    all.asks = {ask};
    journal::WorkerRecord worker = worker_number(3);
    worker.process_started_us = start - 5 * second, worker.job_started_us = start - 10 * second;
    worker.allocated_cores = 8;
    worker.job = "4711";
    worker.joined_us = start + second;
    all.workers = {worker};
    all.samples = {sample_at(start + second), sample_at(start + 10 * second)};
    all.changes = {{start + 6 * second, WorkerId(3), WorkerChange::draining, "20 s left"}};
    all.waiting = {{start + second, journal::AskId(1), WaitReason::busy, 2},
                   {start + 2 * second, journal::no_ask, WaitReason::program, 1}};
    all.tasks = {task_number(0)};
    return all;
}

std::string journal_of(const Records& all) {
    journal::RunHeader header;
    header.list_name = "/home/me/tasks.sh";
    std::string bytes = journal::encode_header(header);
    const auto add = [&](const auto& records) {
        for (const auto& record : records) bytes += journal::encode_record(record);
    };
    add(all.categories), add(all.asks), add(all.workers), add(all.samples);
    add(all.changes), add(all.waiting), add(all.tasks);
    return bytes;
}

void write_stats(const std::string& path, const Records& all) {
    auto writer = H5Writer::create(path, {{"list", "/home/me/tasks.sh"}, {"host", "login1"}});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const auto add = [&](Dataset dataset, const auto& records) {
        for (const auto& record : records) writer->append(dataset, row_of(record));
    };
    add(Dataset::categories, all.categories), add(Dataset::asks, all.asks);
    add(Dataset::workers, all.workers), add(Dataset::manager, all.samples);
    add(Dataset::worker_changes, all.changes), add(Dataset::waiting, all.waiting);
    add(Dataset::tasks, all.tasks);
    for (const records::hdf5::TransferRow& transfer : all.transfers)
        writer->append(Dataset::transfers, transfer);
    ASSERT_TRUE(writer->close().ok());
}

RunView run_at(const std::string& path) {
    auto run = read_run(path);
    EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
    return run.ok() ? std::move(*run) : RunView{};
}

void expect_small_attempt(const RunAttempt& attempt) {
    EXPECT_EQ(attempt.task, 1u);
    EXPECT_EQ(attempt.line, 1);
    EXPECT_EQ(attempt.submitted, start + second);
    EXPECT_EQ(attempt.ready, start + 2 * second);
    EXPECT_EQ(attempt.dispatched, start + 3 * second);
    EXPECT_EQ(attempt.inputs_there, start + 4 * second);
    EXPECT_EQ(attempt.started, start + 5 * second);
    EXPECT_EQ(attempt.ended, start + 7 * second);
    EXPECT_EQ(attempt.outputs_there, start + 8 * second);
    EXPECT_EQ(attempt.received, start + 9 * second);
    EXPECT_EQ(attempt.cpu_us, second + 1000);
    EXPECT_EQ(attempt.wall_us, 2 * second);
    EXPECT_EQ(attempt.cores, 1500);
    EXPECT_EQ(attempt.gpus, 1000);
    EXPECT_EQ(attempt.memory_mb, 512);
    EXPECT_EQ(attempt.memory_peak_mb, 3) << "of its process, rounded up";
    EXPECT_EQ(attempt.cores_peak, not_recorded);
    EXPECT_EQ(attempt.disk_wait, not_recorded);
    EXPECT_TRUE(attempt.is_accepted);
}

void expect_small_worker(const RunWorker& worker) {
    EXPECT_EQ(worker.id, 3u);
    EXPECT_EQ(worker.host, "node3");
    EXPECT_EQ(worker.cores, 4000);
    EXPECT_EQ(worker.allocated_cores, 8000);
    EXPECT_EQ(worker.job, "4711");
    EXPECT_EQ(worker.job_started, start - 10 * second);
    EXPECT_EQ(worker.process_started, start - 5 * second);
    EXPECT_EQ(worker.joined, start + second);
    EXPECT_EQ(worker.left, start + 10 * second) << "the last sample";
    ASSERT_EQ(worker.changes.size(), 1u);
    EXPECT_EQ(worker.changes[0].change, WorkerChange::draining);
    EXPECT_EQ(worker.changes[0].why, "20 s left");
}

void expect_small_run(const RunView& run) {
    EXPECT_EQ(run.title, "tasks.sh");
    ASSERT_EQ(run.attempts.size(), 1u);
    const RunAttempt& attempt = run.attempts[0];
    expect_small_attempt(attempt);
    ASSERT_LT(attempt.category, run.categories.size());
    EXPECT_EQ(run.categories[attempt.category].name, "analysis");
    ASSERT_EQ(attempt.ask, 0u);
    ASSERT_EQ(run.asks.size(), 1u);
    EXPECT_EQ(run.asks[0].needs.cores, Count::of_thousandths(1500));
    EXPECT_EQ(run.asks[0].needs.memory_mb, -1);
    EXPECT_EQ(run.asks[0].features, "big");
    ASSERT_EQ(attempt.worker, 0u);
    ASSERT_EQ(run.workers.size(), 1u);
    expect_small_worker(run.workers[0]);
    EXPECT_TRUE(run.has_file_times);
    ASSERT_EQ(run.waiting.size(), 2u);
    EXPECT_EQ(run.waiting[0].ask, 0u);
    EXPECT_EQ(run.waiting[0].tasks, 2u);
    EXPECT_EQ(run.waiting[1].ask, no_place);
    EXPECT_EQ(run.waiting[1].reason, WaitReason::program);
    ASSERT_EQ(run.sessions.size(), 1u);
    EXPECT_EQ(run.sessions[0].begin, start);
    EXPECT_EQ(run.sessions[0].end, start + 10 * second);
    EXPECT_EQ(run.begin, start);
    EXPECT_EQ(run.end, start + 10 * second);
    ASSERT_EQ(run.samples.size(), 2u);
    EXPECT_EQ(run.samples[1].stats.tasks_done, 7);
    const Account account = account_of(run);
    EXPECT_TRUE(account.offered == offered_by(run.workers, run));
    EXPECT_TRUE(account.at(AccountLine::useful) == CoreTime{1000} * (second + 1000));
    EXPECT_TRUE(account.at(AccountLine::files_in) == CoreTime{1500} * second);
}

TEST(StatsRun, HasWhatTheRunRecorded) {
    const TempDir dir;
    write_stats(dir.file("stats.h5"), small_records());
    const RunView run = run_at(dir.path());
    expect_small_run(run);
    EXPECT_EQ(run.host, "login1");
    EXPECT_FALSE(run.is_live);
    EXPECT_THAT(run.lacks,
                Contains("how long tasks waited for files is not recorded: run with --monitor=measure"));
    EXPECT_THAT(run.lacks, Not(Contains(HasSubstr("earlier version"))));
}

TEST(StatsRun, OfAJournalHasTheSame) {
    const TempDir dir;
    write_file(dir.file("journal"), journal_of(small_records()));
    const RunView run = run_at(dir.file("journal"));
    expect_small_run(run);
    EXPECT_EQ(run.attempts[0].bytes_in, not_recorded);
    EXPECT_THAT(run.lacks, Contains(HasSubstr("files that were transferred are not in a journal")));
}

TEST(StatsRun, KnowsWhatWasMeasured) {
    const TempDir dir;
    Records all = small_records();
    all.tasks[0].outcome.measured.emplace();
    all.tasks[0].outcome.measured->disk_wait = 250;
    all.tasks[0].outcome.measured->usage.cores = 1250;
    all.tasks[0].outcome.measured->usage.memory = 77;
    all.tasks[0].outcome.measured->usage.disk = 5;
    write_stats(dir.file("stats.h5"), all);
    const RunView run = run_at(dir.file("stats.h5"));
    EXPECT_EQ(run.attempts.at(0).disk_wait, 250);
    EXPECT_EQ(run.attempts[0].memory_peak_mb, 77);
    EXPECT_EQ(run.attempts[0].disk_peak_mb, 5);
    EXPECT_THAT(run.lacks, Not(Contains(HasSubstr("--monitor"))));
}

TEST(StatsRun, CountsBytesOfFilesByAttempt) {
    const TempDir dir;
    Records all = small_records();
    all.tasks.push_back(task_number(0));
    all.tasks[0].final = false, all.tasks[0].outcome.exit_code = 3;
    all.tasks[1].attempt = 2;
    all.tasks[1].dispatched_us = start + 9 * second + 1, all.tasks[1].received_us = start + 12 * second;
    all.tasks[1].outcome.started_us = start + 10 * second;
    all.tasks[1].outcome.wall_us = second;
    const auto add = [&](WallMicros time, std::uint64_t bytes, records::hdf5::Direction direction,
                         std::uint32_t worker = 3) {
        records::hdf5::TransferRow row;
        row.time = time, row.task = 1, row.bytes = bytes, row.worker = worker, row.direction = direction;
        row.name = std::string("data");
        all.transfers.push_back(row);
    };
    using records::hdf5::Direction;
    add(start + 4 * second, 100, Direction::input), add(start + 4 * second, 20, Direction::input);
    add(start + 8 * second, 3, Direction::output);
    add(start + 8 * second, 1000, Direction::output, 4);  // another worker's
    add(start + 10 * second, 7, Direction::input);
    write_stats(dir.file("stats.h5"), all);
    const RunView run = run_at(dir.file("stats.h5"));
    ASSERT_EQ(run.attempts.size(), 2u);
    EXPECT_EQ(run.attempts[0].bytes_in, 120);
    EXPECT_EQ(run.attempts[0].bytes_out, 3);
    EXPECT_FALSE(run.attempts[0].is_accepted);
    EXPECT_EQ(run.attempts[1].bytes_in, 7);
    EXPECT_EQ(run.attempts[1].bytes_out, 0);
    EXPECT_TRUE(run.attempts[1].is_accepted);
    ASSERT_EQ(run.transfers.size(), 5u);
    EXPECT_EQ(run.transfers[0].name, "data");
}

// As many attempts of one task, and as many files: looking at each pair would take minutes.
TEST(StatsRun, CountsBytesOfOneTaskWithManyAttempts) {
    constexpr std::int64_t many = 200'000;
    RunRows rows(many, RunRows::Transfers::recorded);
    rows.add(row_of(sample_at(start)));
    rows.add(row_of(small_records().workers[0]));
    for (std::int64_t n = 0; n < many; ++n) {
        records::hdf5::TaskRow task = row_of(task_number(0));
        task.attempt = static_cast<std::uint32_t>(n + 1);
        task.dispatched = start + second + 10 * n, task.received = task.dispatched + 9;
        rows.add(task);
        records::hdf5::TransferRow transfer;
        transfer.task = 1, transfer.worker = 3;
        transfer.time = task.dispatched + 5;
        transfer.bytes = static_cast<std::uint64_t>(n % 7);
        rows.add(transfer);
    }
    const Instant begin = instant_now();
    const RunView run = rows.result(true);
    EXPECT_LT(instant_now() - begin, std::chrono::seconds(30));
    ASSERT_EQ(run.attempts.size(), static_cast<std::size_t>(many));
    for (std::int64_t n = 0; n < many; ++n)
        ASSERT_EQ(run.attempts[static_cast<std::size_t>(n)].bytes_in, n % 7) << n;
}

TEST(StatsRun, BoundsNumbersOfADamagedFile) {
    RunRows rows(0, RunRows::Transfers::recorded);
    constexpr std::int64_t bound = std::int64_t{1} << 60;
    for (const std::int64_t number : {INT64_MAX, INT64_MIN}) {
        records::hdf5::ManagerRow sample = row_of(sample_at(start));
        sample.tasks_done = number;
        sample.bandwidth = std::numeric_limits<double>::quiet_NaN();
        rows.add(sample);
        records::hdf5::TaskRow task = row_of(task_number(0));
        task.line = task.given_memory = number;
        rows.add(task);
        records::hdf5::WaitingRow waiting;
        waiting.time = start, waiting.reason = std::string_view("busy");
        waiting.tasks = static_cast<std::uint64_t>(number);
        rows.add(waiting);
        records::hdf5::TransferRow transfer;
        transfer.time = start, transfer.bytes = static_cast<std::uint64_t>(number);
        rows.add(transfer);
    }
    const RunView run = rows.result(false);
    ASSERT_EQ(run.samples.size(), 2u);
    EXPECT_EQ(run.samples[0].stats.tasks_done, bound);
    EXPECT_EQ(run.samples[1].stats.tasks_done, -bound);
    EXPECT_EQ(run.samples[0].stats.bandwidth, 0);
    for (const RunAttempt& attempt : run.attempts) {
        EXPECT_TRUE(attempt.line == 0 || attempt.line == bound);
        EXPECT_TRUE(attempt.memory_mb == not_recorded || attempt.memory_mb == bound);
    }
    ASSERT_EQ(run.waiting.size(), 2u);
    for (const RunWaiting& waiting : run.waiting) EXPECT_EQ(waiting.tasks, std::uint64_t{1} << 40);
    ASSERT_EQ(run.transfers.size(), 2u);
    for (const RunTransfer& transfer : run.transfers) EXPECT_EQ(transfer.bytes, std::uint64_t{1} << 50);
}

TEST(StatsRun, BoundsTheEndOfAnAttemptInADamagedJournal) {
    journal::TaskRecord task = task_number(0);
    task.outcome.started_us = INT64_MAX - 1;
    EXPECT_EQ(row_of(task).ended, INT64_MAX);
    task.outcome.started_us = INT64_MIN;
    EXPECT_EQ(row_of(task).ended, 0);
}

TEST(StatsRun, KnowsWorkersOfEachSession) {
    const TempDir dir;
    Records all = small_records();
    const WallMicros again = start + 100 * second;
    journal::WorkerRecord second_worker = worker_number(3);
    second_worker.host = "node9";
    second_worker.joined_us = again + second;
    second_worker.left_us = again + 20 * second;
    second_worker.why_left = "told to";
    all.workers.push_back(second_worker);
    all.samples.push_back(sample_at(again + 20 * second, again));
    all.changes.push_back({again + 6 * second, WorkerId(3), WorkerChange::excluded, ""});
    all.tasks.push_back(task_number(1));
    journal::TaskRecord& task = all.tasks.back();
    task.dispatched_us = again + 2 * second, task.received_us = again + 5 * second;
    task.outcome.started_us = again + 2 * second;
    for (const bool from_journal : {false, true}) {
        if (from_journal)
            write_file(dir.file("journal"), journal_of(all));
        else
            write_stats(dir.file("stats.h5"), all);
        const RunView run = run_at(dir.file(from_journal ? "journal" : "stats.h5"));
        ASSERT_EQ(run.sessions.size(), 2u);
        EXPECT_EQ(run.sessions[1].begin, again);
        ASSERT_EQ(run.workers.size(), 2u);
        EXPECT_EQ(run.workers[0].left, start + 10 * second);
        EXPECT_EQ(run.workers[1].left, again + 20 * second);
        EXPECT_EQ(run.workers[1].why_left, "told to");
        EXPECT_EQ(run.workers[0].changes.at(0).change, WorkerChange::draining);
        EXPECT_EQ(run.workers[1].changes.at(0).change, WorkerChange::excluded);
        ASSERT_EQ(run.attempts.size(), 2u);
        EXPECT_EQ(run.attempts[0].worker, 0u);
        EXPECT_EQ(run.attempts[1].worker, 1u);
        EXPECT_THAT(run.lacks, Contains(HasSubstr("what 1 worker ran when the run was killed")));
    }
}

TEST(StatsRun, ShiftsClocksThatAreWrong) {
    const TempDir dir;
    Records all = small_records();
    all.tasks.push_back(task_number(1));
    all.tasks[0].outcome.started_us += 3600 * second;
    all.tasks[0].outcome.files = {start + 3604 * second, start + 3608 * second};
    all.tasks[1].outcome.started_us -= 3600 * second;
    all.tasks[1].outcome.files = {};
    write_stats(dir.file("stats.h5"), all);
    const RunView run = run_at(dir.path());
    ASSERT_EQ(run.attempts.size(), 2u);
    EXPECT_EQ(run.attempts[0].started, start + 7 * second);
    EXPECT_EQ(run.attempts[0].ended, start + 9 * second);
    EXPECT_EQ(run.attempts[0].inputs_there, start + 6 * second);
    EXPECT_EQ(run.attempts[1].started, start + 3 * second);
    EXPECT_EQ(run.attempts[1].ended, start + 5 * second);
}

TEST(StatsRun, OfALiveRunHasWorkersThatAreThere) {
    const TempDir dir;
    write_stats(dir.file("stats.h5"), small_records());
    const auto reader = records::hdf5::StatsReader::open(dir.file("stats.h5"));
    const RunView run = read_stats_run(*reader, dir.file("stats.h5"), true).or_throw();
    EXPECT_TRUE(run.is_live);
    EXPECT_EQ(run.workers.at(0).left, 0);
    EXPECT_THAT(run.lacks, Contains(HasSubstr("attempts that run now are not in stats.h5")));
}

// Another host may not see the lock of the run directory.
TEST(StatsRun, IsLiveIfAFreshStatusSaysSo) {
    const TempDir dir;
    write_stats(dir.file("stats.h5"), small_records());
    EXPECT_FALSE(run_at(dir.path()).is_live);
    journal::RunStatus status;
    status.state = "running";
    ASSERT_TRUE(journal::write_status(dir.path(), status).ok());
    EXPECT_TRUE(run_at(dir.path()).is_live);
    EXPECT_TRUE(run_at(dir.file("stats.h5")).is_live);
    status.state = "finished";
    ASSERT_TRUE(journal::write_status(dir.path(), status).ok());
    EXPECT_FALSE(run_at(dir.path()).is_live);
}

TEST(StatsRun, KnowsTheFolderOfAFile) {
    const TempDir dir;
    EXPECT_EQ(folder_of_run("stats.h5"), ".");
    EXPECT_EQ(folder_of_run("tasks.wq/stats.h5"), "tasks.wq");
    EXPECT_EQ(folder_of_run("/stats.h5"), "/");
    EXPECT_EQ(folder_of_run(dir.path()), dir.path());
}

TEST(StatsRun, OfADamagedFileIsThatOfTheJournal) {
    const TempDir dir;
    write_stats(dir.file("stats.h5"), small_records());
    const std::string whole = read_file(dir.file("stats.h5"));
    write_file(dir.file("stats.h5"), whole.substr(0, whole.size() / 2));
    const auto without = read_run(dir.path());
    ASSERT_FALSE(without.ok());
    EXPECT_THAT(without.error().message, HasSubstr("stats.h5"));
    EXPECT_THAT(without.error().message, HasSubstr("no journal from which `work_queue_run --resume`"));
    write_file(dir.file("journal"), journal_of(small_records()));
    for (const std::string& path : {dir.path(), dir.file("stats.h5")}) {
        const RunView run = run_at(path);
        expect_small_run(run);
        ASSERT_FALSE(run.lacks.empty());
        EXPECT_THAT(run.lacks[0], HasSubstr("journal was read instead"));
    }
    std::filesystem::remove(dir.file("stats.h5"));
    EXPECT_THAT(run_at(dir.path()).lacks.at(0), HasSubstr("stats.h5 is missing"));
}

TEST(StatsRun, OfAnEarlierJournalDoesNotKnowWhenFilesWereThere) {
    const TempDir dir;
    Records all = small_records();
    all.tasks[0].ready_us = 0;
    all.tasks[0].outcome.files = {};
    write_file(dir.file("journal"), journal_of(all));
    const RunView run = run_at(dir.path());
    EXPECT_FALSE(run.has_file_times);
    EXPECT_TRUE(account_of(run).at(AccountLine::start_and_report) == 0);
}

TEST(StatsRun, OfATornJournalSkipsItsLastRecord) {
    const TempDir dir;
    std::string bytes = journal_of(small_records());
    bytes.pop_back();
    write_file(dir.file("journal"), bytes);
    const RunView run = run_at(dir.path());
    EXPECT_TRUE(run.attempts.empty());
    EXPECT_EQ(run.workers.size(), 1u);
    EXPECT_THAT(run.lacks, Contains(HasSubstr("the last record of the journal is incomplete")));
}

template <class Row>
Row random_row(std::mt19937& random) {
    std::array<unsigned char, sizeof(Row)> bytes;
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    Row row;
    std::memcpy(static_cast<void*>(&row), bytes.data(), sizeof row);
    return row;
}

// As a damaged file may have them: the account still adds up.
TEST(StatsRun, OfRowsAtRandomHasAnAccount) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        RunRows rows(0, RunRows::Transfers::recorded);
        for (unsigned n = 0; n < 6; ++n) {
            rows.add(random_row<records::hdf5::ManagerRow>(random));
            auto worker = random_row<records::hdf5::WorkerRow>(random);
            worker.worker = n / 2;
            rows.add(worker);
            rows.add(random_row<records::hdf5::AskRow>(random));
            auto change = random_row<records::hdf5::WorkerChangeRow>(random);
            change.worker = n / 2, change.change = std::string_view("excluded");
            rows.add(change);
            auto waiting = random_row<records::hdf5::WaitingRow>(random);
            waiting.reason = std::string_view("busy");
            rows.add(waiting);
            rows.add(random_row<records::hdf5::TransferRow>(random));
            auto task = random_row<records::hdf5::TaskRow>(random);
            task.worker = n / 2;
            rows.add(task);
        }
        const RunView run = rows.result(seed % 2 == 0);
        EXPECT_EQ(run.attempts.size(), 6u);
        EXPECT_LE(run.begin, run.end);
        const Account account = account_of(run);
        CoreTime sum = 0;
        for (const CoreTime line : account.lines) sum += line;
        ASSERT_TRUE(sum == account.offered) << "seed " << seed;
        ASSERT_TRUE(sum == offered_by(run.workers, run)) << "seed " << seed;
    }
}

TEST(StatsRun, RefusesWhatIsNone) {
    const TempDir dir;
    const auto error_of = [](const std::string& path) {
        const auto run = read_run(path);
        EXPECT_FALSE(run.ok());
        return run.ok() ? std::string() : run.error().message;
    };
    EXPECT_THAT(error_of(dir.path()), HasSubstr("stats.h5 is missing"));
    EXPECT_THAT(error_of(dir.file("nothing")), HasSubstr("nothing"));
    write_file(dir.file("notes"), "hello\n");
    EXPECT_THAT(error_of(dir.file("notes")), HasSubstr("no transactions"));
    Records nothing;
    nothing.samples = {sample_at(start)};
    write_stats(dir.file("stats.h5"), nothing);
    EXPECT_THAT(error_of(dir.path()), HasSubstr("no task has run yet"));
}

TEST(StatsRun, OfAnEarlierVersionSaysWhatItLacks) {
    const std::string python = records::hdf5::testing::python_with_h5py();
    if (python.empty()) GTEST_SKIP() << "no Python with h5py (Debian: python3-h5py)";
    const TempDir dir;
    const auto made = records::hdf5::testing::run_python(python, dir, R"(
import h5py, numpy
f = h5py.File(')" + dir.file("stats.h5") + R"(', 'w')
S = 1000000
f['manager'] = numpy.array([(100 * S, 1 * S)], dtype=[('timestamp', '<i8'), ('time_when_started', '<i8')])
f['tasks'] = numpy.array([(1, 1, 2, 2 * S, 3 * S, 9 * S, 5 * S, 4 * S)],
    dtype=[('task', '<i8'), ('calls', '<u4'), ('given_cores', '<f8'), ('dispatched', '<i8'), ('started', '<i8'),
           ('received', '<i8'), ('wall', '<i8'), ('user', '<i8')])
f['workers'] = numpy.array([(0, 2, 1 * S, 0)], dtype=[('worker', '<u4'), ('cores', '<u4'), ('joined', '<i8'), ('left', '<i8')])
)");
    ASSERT_EQ(made.output, "");
    const RunView run = run_at(dir.path());
    ASSERT_EQ(run.attempts.size(), 1u);
    EXPECT_EQ(run.attempts[0].ready, 0);
    EXPECT_EQ(run.attempts[0].ended, 8 * second);
    EXPECT_EQ(run.attempts[0].ask, no_place);
    EXPECT_EQ(run.attempts[0].disk_wait, not_recorded);
    EXPECT_EQ(run.attempts[0].bytes_in, not_recorded);
    EXPECT_EQ(run.workers.at(0).allocated_cores, not_recorded);
    EXPECT_THAT(run.lacks, Contains(HasSubstr("what waited, and why is not recorded")));
    EXPECT_THAT(run.lacks, Contains(HasSubstr("when workers and their batch jobs began")));
    EXPECT_THAT(run.lacks, Contains(HasSubstr("files are not recorded")));
    EXPECT_FALSE(run.has_file_times);
    const Account account = account_of(run);
    EXPECT_TRUE(account.at(AccountLine::unknown) == CoreTime{2000} * (99 - 7) * second);
}

}  // namespace
}  // namespace wq::views::model

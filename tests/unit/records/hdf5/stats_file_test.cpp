#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "records/hdf5/h5_library.h"
#include "records/hdf5/h5_reader.h"
#include "records/hdf5/h5_writer.h"
#include "records/hdf5/rows.h"
#include "unit/records/hdf5/python.h"
#include "unit/records/journal/records_testing.h"

// A file that could not be written is abandoned, with what the library holds of it: no leak worth a report,
// least of all on the stderr that a test below wants empty.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libhdf5";
}
extern "C" const char* __lsan_default_options() {
    return "print_suppressions=0";
}

namespace wq::records::hdf5 {
namespace {

using journal::testing::record_number;
using journal::testing::sample_number;
using journal::testing::TempDir;
using journal::testing::worker_number;
using test::read_file;
using test::write_file;
using ::testing::HasSubstr;
using testing::python_with_h5py;
using testing::run_python;

std::string bytes_of(const TaskRow& row) {
    return {reinterpret_cast<const char*>(&row), sizeof row};
}

void fill(H5Writer& writer, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
        writer.append(Dataset::tasks, row_of(record_number(i)));
        writer.append(Dataset::manager, row_of(sample_number(static_cast<std::int64_t>(i))));
    }
}

// Of a run that was killed, so that it is opened by SWMR.
TEST(StatsFile, IsFoundDamagedSoon) {
    const TempDir dir;
    auto writer = H5Writer::create(dir.file("live.h5"), {});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    fill(*writer, 0, 10);
    ASSERT_TRUE(writer->flush().ok());
    std::string bytes = read_file(dir.file("live.h5"));
    // The headers of the root group and of the datasets.
    for (std::size_t at = bytes.find("OHDR"), n = 0; at != std::string::npos; at = bytes.find("OHDR", at + 4))
        if (n++ > 0) bytes[at + 8] = static_cast<char>(bytes[at + 8] ^ 1);
    write_file(dir.file("damaged.h5"), bytes);
    const auto damaged = StatsReader::open(dir.file("damaged.h5"));
    ASSERT_FALSE(damaged.ok());
    EXPECT_THAT(damaged.error().message, HasSubstr("damaged.h5: it is damaged: "));
}

TEST(StatsFile, GivesBackItsRowsLiveAndAfterItsEnd) {
    const TempDir dir;
    auto writer = H5Writer::create(dir.file("stats.h5"), {{"run_id", "run-7"}, {"empty", ""}});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    fill(*writer, 0, 5000);
    writer->append(Dataset::workers, row_of(worker_number(3)));
    EXPECT_TRUE(StatsReader::open(dir.file("stats.h5"))->tasks()->empty());
    ASSERT_TRUE(writer->flush().ok());
    const auto live = StatsReader::open(dir.file("stats.h5"));
    ASSERT_TRUE(live.ok()) << live.error().message;
    EXPECT_EQ(live->attribute("run_id"), "run-7");
    EXPECT_EQ(live->attribute("empty"), "");
    EXPECT_EQ(live->attribute("none"), "");
    EXPECT_EQ(live->tasks()->size(), 5000u);
    fill(*writer, 5000, 4000);
    journal::WorkerRecord left = worker_number(3);
    left.left_us = 77;
    left.why_left = std::string(62, 'x') + "\xC3\xA4\xC3\xA4";  // 66 bytes
    writer->overwrite(Dataset::workers, 0, row_of(left));
    ASSERT_TRUE(writer->flush().ok());
    EXPECT_EQ(live->tasks()->size(), 9000u);
    ASSERT_TRUE(writer->close().ok());

    const auto reader = StatsReader::open(dir.file("stats.h5"));
    const auto tasks = reader->tasks();
    ASSERT_TRUE(tasks.ok()) << tasks.error().message;
    ASSERT_EQ(tasks->size(), 9000u);
    for (std::uint64_t i = 0; i < 9000; ++i) {
        ASSERT_EQ(bytes_of((*tasks)[i]), bytes_of(row_of(record_number(i)))) << i;
    }
    EXPECT_EQ(reader->manager()->at(8999).tasks_done, 8999);
    const auto workers = reader->workers();
    ASSERT_EQ(workers->size(), 1u);
    EXPECT_EQ(workers->at(0).left, 77);
    EXPECT_EQ(workers->at(0).why_left.view(), std::string(62, 'x') + "\xC3\xA4");  // cut between characters
    EXPECT_EQ(workers->at(0).address.view(), "node3:rank 3");
}

TEST(StatsFile, OfAShortRunIsSmall) {
    const TempDir dir;
    auto writer = H5Writer::create(dir.file("stats.h5"), {});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    fill(*writer, 0, 100);  // ten seconds of a manager's rows
    for (std::uint64_t i = 0; i < 400; ++i) {
        if (i >= 100) writer->append(Dataset::tasks, row_of(record_number(i)));
        writer->append(Dataset::transfers, TransferRow{});
        writer->append(Dataset::slices, SliceRow{});
        writer->append(Dataset::slice_ranks, SliceRankRow{});
    }
    for (std::uint32_t i = 0; i < 8; ++i) {
        writer->append(Dataset::workers, row_of(worker_number(i)));
        writer->append(Dataset::categories, CategoryRow{});
    }
    ASSERT_TRUE(writer->close().ok());
    EXPECT_LE(std::filesystem::file_size(dir.file("stats.h5")), 500'000u);
}

TEST(StatsFile, IsReadByH5pyLiveAndAfterItsEnd) {
    const std::string python = python_with_h5py();
    if (python.empty()) GTEST_SKIP() << "no Python with h5py (Debian: python3-h5py)";
    const TempDir dir;
    auto writer = H5Writer::create(dir.file("stats.h5"), {{"run_id", "run-7"}});
    ASSERT_TRUE(writer.ok());
    fill(*writer, 0, 4097);
    writer->append(Dataset::workers, row_of(worker_number(3)));
    ASSERT_TRUE(writer->flush().ok());
    const std::string script = R"(
import h5py
f = h5py.File(')" + dir.file("stats.h5") +
                               R"(', 'r', swmr=True)
assert f.attrs['run_id'] in ('run-7', b'run-7')
assert sorted(f) == ['asks', 'categories', 'manager', 'slice_queue', 'slice_ranks', 'slices', 'tasks', 'transfers',
                     'waiting', 'worker_changes', 'workers'], sorted(f)
t = f['tasks'][:]
assert len(t) == 4097 and list(t['task']) == list(range(1, 4098))
assert t['final'].dtype == bool and t['final'][3] and not t['final'][4]
names = h5py.check_enum_dtype(f['tasks'].dtype['ending'])
assert names['signalled'] == t['ending'][3] == 1 and names['not_transferred'] == 13
assert t['signal'][3] == 11 and t['exit_code'][5] == 3 and t['given_memory'][0] == 512
m = f['manager'][:]
assert m['timestamp'][4096] == 1700000000000000 + 4096 * 1000000 and m['bandwidth'][7] == 1.5
assert m['workers_connected'][0] == 4 and m['time_workers_execute'][0] == 0
w = f['workers'][0]
assert w['host'] == b'node3' and w['memory'] == 8000 and f['slices'].shape == (0,)
print('all well')
)";
    EXPECT_EQ(run_python(python, dir, script).output, "all well\n");
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(run_python(python, dir, script).output, "all well\n");
}

TEST(StatsFile, ReadsAnOlderFileWithFewerColumns) {
    const std::string python = python_with_h5py();
    if (python.empty()) GTEST_SKIP() << "no Python with h5py (Debian: python3-h5py)";
    const TempDir dir;
    const auto made = run_python(python, dir, R"(
import h5py, numpy
f = h5py.File(')" + dir.file("old.h5") + R"(', 'w')
f['manager'] = numpy.array([(5, 2)], dtype=[('timestamp', '<i8'), ('tasks_done', '<i4')])
)");
    ASSERT_EQ(made.output, "");
    const auto reader = StatsReader::open(dir.file("old.h5"));
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    const auto rows = reader->manager();
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_EQ(rows->at(0).timestamp, 5);
    EXPECT_EQ(rows->at(0).tasks_done, 2);
    EXPECT_EQ(rows->at(0).tasks_failed, 0);
    EXPECT_THAT(reader->tasks().error().message, HasSubstr("it has no dataset /tasks"));
}

// As the first versions wrote them: the columns that came later have the value for "not recorded", in every
// row of every chunk, and what is there is as it was.
TEST(StatsFile, ColumnsAndDatasetsThatCameLaterAreNotRecorded) {
    const std::string python = python_with_h5py();
    if (python.empty()) GTEST_SKIP() << "no Python with h5py (Debian: python3-h5py)";
    const TempDir dir;
    const auto made = run_python(python, dir, R"(
import h5py, numpy
f = h5py.File(')" + dir.file("old.h5") + R"(', 'w')
f['manager'] = numpy.zeros(1, dtype=[('timestamp', '<i8')])
tasks = numpy.zeros(5000, dtype=[('task', '<i8'), ('wall', '<i8'), ('cores_peak', '<f8')])
tasks['task'] = numpy.arange(1, 5001)
tasks['wall'] = 7
tasks['cores_peak'] = 2.5
f.create_dataset('tasks', data=tasks, chunks=(512,), maxshape=(None,))
f['workers'] = numpy.array([(3, 8)], dtype=[('worker', '<u4'), ('cores', '<u4')])
)");
    ASSERT_EQ(made.output, "");
    const auto reader = StatsReader::open(dir.file("old.h5"));
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    std::int64_t next = 1;
    const auto check = [&](const TaskRow& row) {
        ASSERT_EQ(row.task, next++);
        ASSERT_EQ(row.wall, 7);
        ASSERT_EQ(row.cores_peak, 2.5);
        ASSERT_EQ(row.memory_peak, -1);
        ASSERT_EQ(row.disk_wait, -1);
        ASSERT_EQ(row.ready, 0);
        ASSERT_EQ(row.inputs_there, 0);
        ASSERT_EQ(row.ended, 0);
        ASSERT_EQ(row.outputs_there, 0);
        ASSERT_EQ(row.ask, 0u);
    };
    ASSERT_TRUE(reader->each_task(check).ok());
    EXPECT_EQ(next, 5001);
    next = 1;
    const auto tasks = reader->tasks();
    ASSERT_TRUE(tasks.ok()) << tasks.error().message;
    for (const TaskRow& row : *tasks) check(row);
    EXPECT_EQ(next, 5001);
    const auto workers = reader->workers();
    ASSERT_TRUE(workers.ok()) << workers.error().message;
    EXPECT_EQ(workers->at(0).cores, 8u);
    EXPECT_EQ(workers->at(0).process_started, 0);
    EXPECT_EQ(workers->at(0).job.view(), "");
    EXPECT_TRUE(reader->asks().or_throw().empty());
    EXPECT_TRUE(reader->worker_changes().or_throw().empty());
    EXPECT_TRUE(reader->waiting().or_throw().empty());
    EXPECT_TRUE(reader->has(Dataset::tasks, "wall"));
    EXPECT_FALSE(reader->has(Dataset::tasks, "ready"));
    EXPECT_FALSE(reader->has(Dataset::waiting, "tasks"));
    EXPECT_FALSE(reader->has(Dataset::categories, "name"));
    EXPECT_FALSE(reader->categories().ok());
}

TEST(StatsFile, GivesBackWhatWasReadyWhatWasAskedAndWhatWaited) {
    const TempDir dir;
    auto writer = H5Writer::create(dir.file("stats.h5"), {});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    journal::TaskRecord task = record_number(2);
    task.ready_us = task.submitted_us + 3;
    task.ask = journal::AskId(7);
    task.outcome.files = {task.submitted_us + 4, task.submitted_us + 5};
    task.outcome.measured.emplace().disk_wait = 125;
    writer->append(Dataset::tasks, row_of(task));
    task.outcome.started_us = 0;
    task.outcome.measured.reset();
    writer->append(Dataset::tasks, row_of(task));
    journal::RangeRecord range;
    range.tasks.insert({4, 9});
    range.started_us = 5;
    range.wall_us = 100;
    writer->append(Dataset::tasks, row_of(range));
    journal::WorkerRecord worker = worker_number(3);
    worker.process_started_us = 11;
    worker.job_started_us = 12;
    worker.job_ends_us = 13;
    worker.allocated_cores = 64;
    worker.job = "4711_3";
    writer->append(Dataset::workers, row_of(worker));
    journal::AskRecord ask{journal::AskId(7), {}, {"a", "function:b"}};
    ask.needs.cores = Count::of_thousandths(1500);
    ask.needs.disk_mb = 30;
    writer->append(Dataset::asks, row_of(ask));
    writer->append(Dataset::worker_changes,
                   row_of(journal::WorkerChangeRecord{17, WorkerId(3), journal::WorkerChange::disconnected,
                                                      "connection reset"}));
    writer->append(
        Dataset::waiting,
        row_of(journal::WaitingRecord{18, journal::AskId(7), engine::model::WaitReason::start_time, 5000}));
    ASSERT_TRUE(writer->close().ok());

    const StatsReader reader = StatsReader::open(dir.file("stats.h5")).or_throw();
    const std::vector<TaskRow> tasks = reader.tasks().or_throw();
    ASSERT_EQ(tasks.size(), 3u);
    EXPECT_EQ(tasks[0].ready, task.submitted_us + 3);
    EXPECT_EQ(tasks[0].inputs_there, task.submitted_us + 4);
    EXPECT_EQ(tasks[0].ended, task.submitted_us + 20 + 900);
    EXPECT_EQ(tasks[0].outputs_there, task.submitted_us + 5);
    EXPECT_EQ(tasks[0].ask, 7u);
    EXPECT_EQ(tasks[0].disk_wait, 125);
    EXPECT_EQ(tasks[1].ended, 0) << "it never started";
    EXPECT_EQ(tasks[1].disk_wait, -1);
    EXPECT_EQ(tasks[2].ended, 0) << "its times are sums";
    EXPECT_EQ(tasks[2].disk_wait, -1);
    const std::vector<WorkerRow> workers = reader.workers().or_throw();
    EXPECT_EQ(workers.at(0).process_started, 11);
    EXPECT_EQ(workers.at(0).job_started, 12);
    EXPECT_EQ(workers.at(0).job_ends, 13);
    EXPECT_EQ(workers.at(0).allocated_cores, 64);
    EXPECT_EQ(workers.at(0).job.view(), "4711_3");
    const std::vector<AskRow> asks = reader.asks().or_throw();
    EXPECT_EQ(asks.at(0).ask, 7u);
    EXPECT_EQ(asks.at(0).cores, 1.5);
    EXPECT_EQ(asks.at(0).gpus, -1);
    EXPECT_EQ(asks.at(0).memory, -1);
    EXPECT_EQ(asks.at(0).disk, 30);
    EXPECT_EQ(asks.at(0).features.view(), "a,function:b");
    const std::vector<WorkerChangeRow> changes = reader.worker_changes().or_throw();
    EXPECT_EQ(changes.at(0).time, 17);
    EXPECT_EQ(changes.at(0).worker, 3u);
    EXPECT_EQ(changes.at(0).change.view(), "disconnected");
    EXPECT_EQ(changes.at(0).why.view(), "connection reset");
    const std::vector<WaitingRow> waiting = reader.waiting().or_throw();
    EXPECT_EQ(waiting.at(0).time, 18);
    EXPECT_EQ(waiting.at(0).tasks, 5000u);
    EXPECT_EQ(waiting.at(0).ask, 7u);
    EXPECT_EQ(waiting.at(0).reason.view(), "start_time");
    EXPECT_TRUE(reader.has(Dataset::tasks, "disk_wait"));
    EXPECT_TRUE(reader.has(Dataset::waiting, "reason"));
    EXPECT_FALSE(reader.has(Dataset::waiting, "why"));
}

TEST(StatsFile, RefusesWhatIsNone) {
    const TempDir dir;
    ::testing::internal::CaptureStderr();
    EXPECT_THAT(StatsReader::open(dir.file("none.h5")).error().message,
                HasSubstr("No such file or directory"));
    write_file(dir.file("text"), "hello");
    EXPECT_FALSE(is_hdf5(dir.file("text")));
    EXPECT_EQ(StatsReader::open(dir.file("text")).error().code, ExitCode::bad_input);
    EXPECT_THAT(H5Writer::create(dir.file("no/such/stats.h5"), {}).error().message,
                HasSubstr("No such file"));
    {
        auto writer = H5Writer::create(dir.file("cut.h5"), {});
        fill(*writer, 0, 5000);
        ASSERT_TRUE(writer->close().ok());
    }
    const std::string whole = read_file(dir.file("cut.h5"));
    EXPECT_TRUE(is_hdf5(dir.file("cut.h5")));
    for (const std::size_t part : {2u, 3u, 10u}) {
        write_file(dir.file("cut.h5"), whole.substr(0, whole.size() / part));
        const auto reader = StatsReader::open(dir.file("cut.h5"));
        EXPECT_FALSE(reader.ok() && reader->tasks().ok()) << part;
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// The file system says no in the middle of a flush: one error, then silence; also at exit, in the
// destructors, and from the library, which likes to print "infinite loop closing library" there.
// A thread that ends with a full stack leaves its texts to nobody.
TEST(StatsFile, LeavesNoErrorsOnTheStackOfItsThread) {
    const TempDir dir;
    write_file(dir.file("damaged.h5"), std::string("\x89HDF\r\n\x1a\n") + std::string(200, 'x'));
    ASSERT_FALSE(StatsReader::open(dir.file("damaged.h5")).ok());
    EXPECT_EQ(h5_last_error(), "unknown error of HDF5");
}

TEST(StatsFile, GoesQuietlyAfterAFailedWrite) {
    const TempDir dir;
    const pid_t child = ::fork();
    if (child == 0) {
        if (std::freopen(dir.file("stderr").c_str(), "w", stderr) == nullptr) ::_exit(9);
        std::signal(SIGXFSZ, SIG_IGN);
        auto writer = H5Writer::create(dir.file("stats.h5"), {});
        fill(*writer, 0, 5000);
        if (!writer.ok() || !writer->flush()) std::exit(1);
        const rlimit limit{6u << 20, 6u << 20};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        int errors = 0;
        for (std::uint64_t i = 1; i < 20; ++i) {
            fill(*writer, i * 5000, 5000);
            const auto flushed = writer->flush();
            if (!flushed && flushed.error().message.find("File too large") != std::string::npos) ++errors;
        }
        std::exit(writer->failed() && writer->close().ok() && errors == 1 ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(read_file(dir.file("stderr")), "");
}

}  // namespace
}  // namespace wq::records::hdf5

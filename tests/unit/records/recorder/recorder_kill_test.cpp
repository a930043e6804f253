// A writer killed at 20 random instants: its journal is whole or torn at the end, stats.h5 opens with
// swmr=True and holds the first rows of what the journal holds, no other.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "recorder_testing.h"
#include "records/hdf5/h5_reader.h"
#include "records/hdf5/rows.h"
#include "records/journal/journal.h"
#include "records/journal/output_log.h"
#include "unit/records/hdf5/python.h"

namespace wq::records::recorder {
namespace {

using journal::testing::record_number;
using journal::testing::sample_number;
using journal::testing::TempDir;
using journal::testing::worker_number;
using test::read_file;
using testing::options_in;
using testing::recorded_number;

// Each wakes the test: with one for each task, a busy machine took two minutes to change between the two.
constexpr std::uint64_t tasks_of_a_step = 20;

// Records tasks from `first` on for ever, with a byte to `progress` after each step.
[[noreturn]] void write_for_ever(const TempDir& dir, std::uint64_t first, int progress) {
    if (std::freopen(dir.file("stderr").c_str(), "a", stderr) == nullptr) ::_exit(1);
    auto recorder = open_recorder(options_in(dir.path()));
    if (!recorder) ::_exit(2);
    (*recorder)->worker(worker_number(1));
    for (std::uint64_t i = first;; ++i) {
        (*recorder)->task(recorded_number(i));
        if (i % 10 == 0) (*recorder)->sample(sample_number(static_cast<std::int64_t>(i)));
        if (i % tasks_of_a_step == 0 && ::write(progress, "x", 1) != 1) ::_exit(3);
    }
}

// Kills it when it has made `most` steps.
void run_and_kill(const TempDir& dir, std::uint64_t first, std::uint64_t most) {
    int progress[2];
    ASSERT_EQ(::pipe(progress), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(progress[0]);
        write_for_ever(dir, first, progress[1]);
    }
    ::close(progress[1]);
    char bytes[512];
    for (std::uint64_t made = 0; made < most;) {
        const ssize_t n = ::read(progress[0], bytes, std::min<std::size_t>(sizeof bytes, most - made));
        ASSERT_GT(n, 0);
        made += static_cast<std::uint64_t>(n);
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    ::close(progress[0]);
}

std::string killed_as_bytes(const hdf5::TaskRow& row) {
    return {reinterpret_cast<const char*>(&row), sizeof row};
}

std::string script_for(const std::string& path) {
    return R"(
import h5py
f = h5py.File(')" +
           path + R"(', 'r', swmr=True)
t = f['tasks'][:]
assert list(t['task']) == list(range(1, len(t) + 1))
assert (t['received'] == t['submitted'] + 1000).all() and (t['wall'] == 900).all()
m = f['manager'][:]
assert (m['timestamp'] > 0).all() and (m['workers_connected'] == 4).all()
print(len(t))
)";
}

TEST(RecorderKilled, LeavesFilesThatAgreeEachTime) {
    const std::string python = hdf5::testing::python_with_h5py();
    std::mt19937_64 random(20261120);
    std::uint64_t rows_seen = 0;
    for (int round = 0; round < 20; ++round) {
        const TempDir dir;
        run_and_kill(dir, 0, 1 + random() % (20000 / tasks_of_a_step));
        const auto journal = journal::read_journal(dir.file("journal"));
        ASSERT_TRUE(journal.ok()) << journal.error().message;
        for (std::uint64_t i = 0; i < journal->tasks.size(); ++i) {
            ASSERT_EQ(journal::encode_record(journal->tasks[i]), journal::encode_record(record_number(i)))
                << i;
            ASSERT_EQ(journal::read_task_output(dir.path(), TaskId(i))->out, recorded_number(i).output.out);
            if (i > 200) i += random() % 200;
        }
        const auto reader = hdf5::StatsReader::open(dir.file("stats.h5"));
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        const auto rows = reader->tasks();
        ASSERT_TRUE(rows.ok()) << rows.error().message;
        ASSERT_LE(rows->size(), journal->tasks.size());
        for (std::size_t i = 0; i < rows->size(); ++i) {
            ASSERT_EQ(killed_as_bytes((*rows)[i]), killed_as_bytes(hdf5::row_of(journal->tasks[i]))) << i;
        }
        rows_seen += rows->size();
        EXPECT_EQ(read_file(dir.file("stderr")), "");
        if (!python.empty() && round % 4 == 0) {  // h5py takes a second or two to start
            EXPECT_EQ(hdf5::testing::run_python(python, dir, script_for(dir.file("stats.h5"))).output,
                      std::to_string(rows->size()) + "\n");
        }
    }
    EXPECT_GT(rows_seen, 1000u);  // else the kills came before there was anything to spoil
    if (python.empty()) GTEST_SKIP() << "read without h5py only (Debian: python3-h5py)";
}

TEST(RecorderKilled, AgainAndAgainLosesAndDoublesNothing) {
    const TempDir dir;
    std::mt19937_64 random(7);
    std::uint64_t known = 0;
    for (int round = 0; round < 10; ++round) {
        run_and_kill(dir, known, 1 + random() % (3000 / tasks_of_a_step));
        const auto journal = journal::read_journal(dir.file("journal"));
        ASSERT_TRUE(journal.ok()) << journal.error().message;
        ASSERT_GE(journal->tasks.size(), known);
        known = journal->tasks.size();
        for (std::uint64_t i = 0; i < known; ++i) ASSERT_EQ(journal->tasks[i].task, TaskId(i));
    }
    auto recorder = open_recorder(options_in(dir.path()));
    ASSERT_TRUE(recorder.ok()) << recorder.error().message;
    ASSERT_TRUE((*recorder)->close().ok());
    EXPECT_EQ(hdf5::StatsReader::open(dir.file("stats.h5"))->tasks()->size(), known);
    const std::string joblog = read_file(dir.file("joblog.tsv"));
    EXPECT_EQ(std::count(joblog.begin(), joblog.end(), '\n'), static_cast<std::ptrdiff_t>(known + 1));
    EXPECT_EQ(read_file(dir.file("stderr")), "");
}

}  // namespace
}  // namespace wq::records::recorder

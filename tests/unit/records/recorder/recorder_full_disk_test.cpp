// A full disk, by a file size limit and by a real one: the truth stops at a record's border, says so, and
// goes on when there is space; nothing is lost or doubled.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "recorder_testing.h"
#include "records/hdf5/h5_reader.h"
#include "records/journal/journal.h"
#include "records/journal/output_log.h"

namespace wq::records::recorder {
namespace {

using journal::testing::record_number;
using journal::testing::TempDir;
using test::read_file;
using ::testing::HasSubstr;
using testing::options_in;
using testing::recorded_number;
using testing::wait_for;

struct Nobody : journal::JournalVisitor {
    std::uint64_t tasks = 0;
    void task(const journal::TaskRecord&) override { ++tasks; }
    void worker(const journal::WorkerRecord&) override {}
    void sample(const journal::Sample&) override {}
};

// What is in the journal is whole, is what was acknowledged, and its output is there.
void expect_truth(const std::string& directory, std::uint64_t acknowledged) {
    const auto journal = journal::read_journal(directory + "/journal");
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    EXPECT_FALSE(journal->torn);
    ASSERT_EQ(journal->tasks.size(), acknowledged);
    for (std::uint64_t i = 0; i < acknowledged; ++i) {
        ASSERT_EQ(journal::encode_record(journal->tasks[i]), journal::encode_record(record_number(i))) << i;
        ASSERT_EQ(journal::read_task_output(directory, TaskId(i))->out, recorded_number(i).output.out) << i;
    }
    Nobody twice;
    ASSERT_TRUE(journal::scan_journal(directory + "/journal", twice).ok());
    EXPECT_EQ(twice.tasks, acknowledged);
}

void expect_one_line_each(const std::string& directory, std::uint64_t tasks) {
    const std::string joblog = read_file(directory + "/joblog.tsv");
    EXPECT_EQ(std::count(joblog.begin(), joblog.end(), '\n'), static_cast<std::ptrdiff_t>(tasks + 1));
    const std::string output = read_file(directory + "/output.log");
    for (std::uint64_t i = 0; i < tasks; ++i) {
        const std::string line = "\nout of " + std::to_string(i) + "\n";
        const auto at = output.find(line);
        ASSERT_NE(at, std::string::npos) << i;
        EXPECT_EQ(output.find(line, at + 1), std::string::npos) << i;
    }
}

class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

TEST(RecorderOnAFullDisk, StopsAtABorderAndGoesOnWithinALimit) {
    const TempDir dir;
    auto recorder = open_recorder(options_in(dir.path()));
    ASSERT_TRUE(recorder.ok());
    std::uint64_t tasks = 0;
    for (; tasks < 300; ++tasks) (*recorder)->task(recorded_number(tasks));
    ASSERT_TRUE(wait_for(**recorder, [&] { return (*recorder)->acknowledged() == tasks; }));
    {
        const FileSizeLimit limit(std::filesystem::file_size(dir.file("journal")) + 1000);
        for (; tasks < 3000; ++tasks) (*recorder)->task(recorded_number(tasks));
        ASSERT_TRUE(wait_for(**recorder, [&] { return (*recorder)->trouble().has_value(); }));
        EXPECT_THAT(*(*recorder)->trouble(), HasSubstr("disk full: " + dir.path()));
        EXPECT_GT((*recorder)->backlog_bytes(), 0u);
        expect_truth(dir.path(), (*recorder)->acknowledged());
    }
    ASSERT_TRUE(wait_for(**recorder, [&] { return (*recorder)->acknowledged() == tasks; }));
    EXPECT_EQ((*recorder)->trouble(), std::nullopt);
    ASSERT_TRUE((*recorder)->close().ok());
    expect_truth(dir.path(), tasks);
    expect_one_line_each(dir.path(), tasks);
}

TEST(RecorderOnAFullDisk, CloseSaysThatTheTruthIsShort) {
    const TempDir dir;
    auto recorder = open_recorder(options_in(dir.path()));
    ASSERT_TRUE(recorder.ok());
    std::uint64_t acknowledged = 0;
    {
        const FileSizeLimit limit(4000);
        for (std::uint64_t i = 0; i < 1000; ++i) (*recorder)->task(recorded_number(i));
        const auto closed = (*recorder)->close();
        ASSERT_FALSE(closed.ok());
        EXPECT_EQ(closed.error().code, ExitCode::interrupted);
        EXPECT_THAT(closed.error().message, HasSubstr("disk full: "));
        acknowledged = (*recorder)->acknowledged();
        Recorder::Unrecorded lost;
        for (std::uint64_t i = acknowledged; i < 1000; ++i) {
            const journal::TaskRecord record = record_number(i);
            if (!record.final) continue;
            ++lost.tasks;
            if (!record.outcome.succeeded()) ++lost.failed;
        }
        EXPECT_GT(lost.failed, 0u);
        EXPECT_EQ((*recorder)->unrecorded().tasks, lost.tasks);
        EXPECT_EQ((*recorder)->unrecorded().failed, lost.failed);
    }
    expect_truth(dir.path(), acknowledged);
    // The next run records the rest.
    auto again = open_recorder(options_in(dir.path()));
    ASSERT_TRUE(again.ok());
    for (std::uint64_t i = acknowledged; i < 1000; ++i) (*again)->task(recorded_number(i));
    ASSERT_TRUE((*again)->close().ok());
    expect_truth(dir.path(), 1000);
    EXPECT_EQ(hdf5::StatsReader::open(dir.file("stats.h5"))->tasks()->size(), 1000u);
}

class TinyDisk {
  public:
    explicit TinyDisk(const std::string& path, const char* options) : path_(path) {
        std::filesystem::create_directories(path);
        error_ = ::mount("tmpfs", path.c_str(), "tmpfs", 0, options) == 0 ? 0 : errno;
    }
    ~TinyDisk() {
        if (error_ == 0) ::umount2(path_.c_str(), MNT_DETACH);
    }
    int error() const { return error_; }
    int grow(const char* options) { return ::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT, options); }

  private:
    std::string path_;
    int error_ = 0;
};

TEST(RecorderOnAFullDisk, StopsAtABorderAndGoesOnOnARealOne) {
    const TempDir dir;
    TinyDisk disk(dir.file("disk"), "size=256k");
    if (disk.error() != 0) GTEST_SKIP() << "cannot mount a tmpfs: " << std::strerror(disk.error());
    const std::string path = dir.file("disk");
    auto recorder = open_recorder(options_in(path));
    ASSERT_TRUE(recorder.ok()) << recorder.error().message;
    std::uint64_t tasks = 0;
    for (; tasks < 4000; ++tasks) (*recorder)->task(recorded_number(tasks));
    ASSERT_TRUE(wait_for(**recorder, [&] { return (*recorder)->trouble().has_value(); }));
    EXPECT_THAT(*(*recorder)->trouble(), HasSubstr("No space left on device"));
    expect_truth(path, (*recorder)->acknowledged());
    ASSERT_EQ(disk.grow("size=64m"), 0);
    ASSERT_TRUE(wait_for(**recorder, [&] { return (*recorder)->acknowledged() == tasks; }));
    ASSERT_TRUE((*recorder)->close().ok());
    expect_truth(path, tasks);
    expect_one_line_each(path, tasks);
    // The statistics waited for the space too.
    EXPECT_EQ(hdf5::StatsReader::open(path + "/stats.h5")->tasks()->size(), tasks);
    recorder->reset();
}

}  // namespace
}  // namespace wq::records::recorder

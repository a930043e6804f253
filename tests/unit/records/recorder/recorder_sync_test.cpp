// A disk that fails at a sync, once, as Linux tells it: the next sync succeeds, whatever became of the bytes.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>

#include "recorder_testing.h"
#include "records/journal/append_file.h"
#include "records/journal/journal.h"

namespace {

std::atomic<int> syncs_to_fail{0};

std::mutex mutex;
std::map<ino_t, off_t> synced;  // of each file, how long it was at its last sync

void note_sync(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return;
    const std::lock_guard lock(mutex);
    synced[status.st_ino] = status.st_size;
}

bool is_synced_whole(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return false;
    const std::lock_guard lock(mutex);
    const auto found = synced.find(status.st_ino);
    return found != synced.end() && found->second == status.st_size;
}

}  // namespace

// In place of the C library's.
extern "C" int fdatasync(int fd) {
    for (int left = syncs_to_fail; left > 0;) {
        if (!syncs_to_fail.compare_exchange_weak(left, left - 1)) continue;
        errno = EIO;
        return -1;
    }
    note_sync(fd);
    return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace wq::records::recorder {
namespace {

using journal::testing::TempDir;
using test::read_file;
using ::testing::HasSubstr;
using testing::options_in;
using testing::recorded_number;
using testing::wait_for;

TEST(RecorderSync, ThatFailedOnceIsNotHealedByTheNext) {
    const TempDir dir;
    RecorderOptions options = options_in(dir.path());
    options.sync_interval = std::chrono::milliseconds(3);
    auto recorder = open_recorder(options).or_throw();
    syncs_to_fail = 1;
    recorder->task(recorded_number(0));
    ASSERT_TRUE(wait_for(*recorder, [&] { return recorder->trouble().has_value(); }));
    EXPECT_EQ(syncs_to_fail, 0);
    EXPECT_THAT(*recorder->trouble(),
                HasSubstr("Input/output error; what was written since the last sync may be lost"));
    // 0 where the sync was one of what stands above it.
    const std::uint64_t before = recorder->acknowledged();
    ASSERT_LE(before, 1u);
    for (std::uint64_t i = 1; i < 5; ++i) recorder->task(recorded_number(i));
    const auto closed = recorder->close();
    ASSERT_FALSE(closed.ok());
    EXPECT_EQ(closed.error().code, ExitCode::interrupted);
    EXPECT_EQ(recorder->acknowledged(), before) << "nothing more is promised";
    EXPECT_EQ(recorder->unrecorded().tasks, 4 - before) << "one of the five is to be tried again";
    EXPECT_EQ(journal::read_journal(dir.file("journal"))->tasks.size(), before);
}

TEST(RecorderSync, ThatFailsAtTheEndIsSaid) {
    const TempDir dir;
    auto recorder = open_recorder(options_in(dir.path())).or_throw();
    recorder->task(recorded_number(0));
    ASSERT_TRUE(wait_for(*recorder, [&] { return recorder->acknowledged() == 1; }));
    syncs_to_fail = 1;
    EXPECT_FALSE(recorder->close().ok());
}

TEST(RecorderSync, TakesTheJournalAndItsOutputWhole) {
    const TempDir dir;
    RecorderOptions options = options_in(dir.path());
    options.sync_interval = std::chrono::milliseconds(3);
    auto recorder = open_recorder(options).or_throw();
    recorder->task(recorded_number(0));
    ASSERT_TRUE(wait_for(*recorder, [&] { return recorder->acknowledged() == 1; }));
    EXPECT_TRUE(wait_for(*recorder, [&] { return is_synced_whole(dir.file("journal")); }));
    recorder->task(recorded_number(1));
    ASSERT_TRUE(recorder->close().ok());
    EXPECT_TRUE(is_synced_whole(dir.file("journal")));
    EXPECT_TRUE(is_synced_whole(dir.file("output.log")));
}

TEST(RecorderSync, OfAFileThatTakesAnothersPlaceComesFirst) {
    const TempDir dir;
    ASSERT_TRUE(journal::write_atomically(dir.file("status"), "old").ok());
    syncs_to_fail = 1;
    EXPECT_FALSE(journal::write_atomically(dir.file("status"), "new").ok());
    EXPECT_EQ(read_file(dir.file("status")), "old");
    EXPECT_FALSE(std::filesystem::exists(dir.file("status.part")));
}

}  // namespace
}  // namespace wq::records::recorder

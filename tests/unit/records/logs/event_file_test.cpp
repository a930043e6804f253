// Event files: their bytes, their names, and what is in them when the disk is full or they are removed.
// event_file_test.py reads them.
#include "records/logs/event_file.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "records/journal/run_status.h"
#include "support/folder.h"

namespace wq::records::logs {
namespace {

using test::Folder;
using test::read_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::string_literals;  // NOLINT: for bytes with NULs

constexpr WallMicros begin = 1'599'759'586'000'000;

// As TensorBoard has it in a test of its reader, from a file that TensorFlow wrote at `begin`.
const std::string version_record =
    "\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22"
    "\x09\0\0\x80\x38\x99\xd6\xd7\x41\x1a\x0d"
    "brain.Event:2"
    "\x12\x4b\x36\xab"s;

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

EventFile new_events(const std::string& folder, WallMicros now = begin) {
    return EventFile::create(folder, now).or_throw();
}

Status add_one(EventFile& events, std::int64_t step, const std::string& tag, double value) {
    const Scalar scalar{tag, value};
    return events.add(step, begin + step, {&scalar, 1});
}

TEST(EventFile, BeginsAsThoseOfTensorFlow) {
    const Folder folder;
    const EventFile events = new_events(folder.path());
    EXPECT_EQ(read_file(events.path()), version_record);
}

TEST(EventFile, HasTheScalarsOfAStepInOneRecord) {
    const Folder folder;
    EventFile events = new_events(folder.path());
    const std::array<Scalar, 2> scalars{Scalar{"a", 0.99}, Scalar{"\xc3\xa4", -2}};
    ASSERT_TRUE(events.add(300, 1'600'023'779'500'000, scalars).ok());
    EXPECT_EQ(read_file(events.path()), version_record) << "not flushed";
    ASSERT_TRUE(events.flush().ok());
    EXPECT_EQ(read_file(events.path()).substr(version_record.size()),
              "\x23\0\0\0\0\0\0\0\xb0\x9f\x77\x43"
              "\x09\0\0\xe0\x38\x9b\xd7\xd7\x41\x10\xac\x02\x2a\x15"
              "\x0a\x08\x0a\x01\x61\x15\xa4\x70\x7d\x3f"
              "\x0a\x09\x0a\x02\xc3\xa4\x15\0\0\0\xc0"
              "\x98\x7c\xf3\x67"s);
}

TEST(EventFile, HasTheNameThatTensorBoardLooksFor) {
    const Folder folder;
    const EventFile events = new_events(folder / "made/with/parents", 42 * micros_per_second);
    EXPECT_EQ(events.path(), folder / "made/with/parents/events.out.tfevents.0000000042." +
                                 journal::host_name() + "." + std::to_string(::getpid()) + ".0");
}

TEST(EventFile, NeverTakesTheNameOfAnother) {
    const Folder folder;
    EventFile first = new_events(folder.path());
    ASSERT_TRUE(add_one(first, 1, "of the first", 1).ok());
    ASSERT_TRUE(first.flush().ok());
    const std::string before = read_file(first.path());
    const EventFile second = new_events(folder.path());
    EXPECT_NE(first.path(), second.path());
    EXPECT_EQ(read_file(first.path()), before);
    EXPECT_EQ(read_file(second.path()), version_record);
}

TEST(EventFile, ManyAtOnceHaveDifferentNames) {
    const Folder folder;
    constexpr std::size_t files = 8;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < files; ++i)
            threads.emplace_back([&] {
                EventFile events = new_events(folder / "one");
                if (!add_one(events, 7, "tag", 1)) std::abort();
            });
    }
    const auto names = names_in(folder / "one");
    EXPECT_EQ(names.size(), files);
    for (const std::string& name : names) {
        const std::string bytes = read_file(folder / ("one/" + name));
        EXPECT_THAT(bytes, StartsWith(version_record));
        EXPECT_GT(bytes.size(), version_record.size()) << "its destructor writes the rest";
        EXPECT_EQ(bytes, read_file(folder / ("one/" + names.front())));
    }
}

TEST(EventFile, TakesNothingOfAnEventWithAnEmptyTag) {
    const Folder folder;
    EventFile events = new_events(folder.path());
    const std::array<Scalar, 2> scalars{Scalar{"good", 1}, Scalar{"", 2}};
    const Status refused = events.add(1, begin, scalars);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ExitCode::bad_input);
    EXPECT_THAT(refused.error().message, HasSubstr(events.path()));
    ASSERT_TRUE(events.add(1, begin, {}).ok()) << "no scalars, no event";
    ASSERT_TRUE(events.flush().ok());
    EXPECT_EQ(read_file(events.path()), version_record);
    ASSERT_TRUE(add_one(events, 2, "good", 2).ok());
    ASSERT_TRUE(events.flush().ok());
    EXPECT_GT(read_file(events.path()).size(), version_record.size()) << "it is as good as before";
}

TEST(EventFile, SaysWhyItCannotBeMade) {
    const Folder folder;
    std::ofstream(folder / "file") << "no folder";
    const auto below = EventFile::create(folder / "file/events", begin);
    ASSERT_FALSE(below.ok());
    EXPECT_EQ(below.error().message, "cannot write " + folder / "file/events: Not a directory");
    const auto itself = EventFile::create(folder / "file", begin);
    ASSERT_FALSE(itself.ok());
    EXPECT_EQ(itself.error().message, "cannot write " + folder / "file: Not a directory");
}

TEST(EventFile, TellsOnceThatItWasRemoved) {
    const Folder folder;
    EventFile events = new_events(folder / "logs");
    std::filesystem::remove_all(folder / "logs");
    ASSERT_TRUE(add_one(events, 1, "tag", 1).ok());
    const Status lost = events.flush();
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().code, ExitCode::interrupted);
    EXPECT_EQ(lost.error().message, "cannot write " + events.path() + ": No such file or directory");
    EXPECT_TRUE(add_one(events, 2, "tag", 2).ok());
    EXPECT_TRUE(events.flush().ok());
    EXPECT_FALSE(std::filesystem::exists(folder / "logs")) << "nor is it made again";
}

class SizeLimit {
  public:
    explicit SizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~SizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

  private:
    void (*handler_)(int);
    rlimit before_{};
};

// At every size that is short of the last byte, the beginning of the second flush is written and taken back.
TEST(EventFile, HasWholeRecordsHoweverMuchOfAFlushFitted) {
    const Folder folder;
    std::size_t flushed = 0;
    std::size_t all = 0;
    {
        EventFile events = new_events(folder / "measure");
        ASSERT_TRUE(add_one(events, 1, "tag", 1).ok() && events.flush().ok());
        flushed = read_file(events.path()).size();
        ASSERT_TRUE(add_one(events, 2, "tag", 2).ok() && add_one(events, 3, "tag", 3).ok());
        ASSERT_TRUE(events.flush().ok());
        all = read_file(events.path()).size();
    }
    for (std::size_t size = flushed; size < all; ++size) {
        EventFile events = new_events(folder / "full");
        ASSERT_TRUE(add_one(events, 1, "tag", 1).ok() && events.flush().ok());
        const std::string before = read_file(events.path());
        ASSERT_TRUE(add_one(events, 2, "tag", 2).ok() && add_one(events, 3, "tag", 3).ok());
        Status told = success();
        {
            const SizeLimit limit(size);
            told = events.flush();
        }
        ASSERT_FALSE(told.ok()) << size;
        ASSERT_EQ(told.error().message, "disk full: " + events.path() + ": File too large");
        ASSERT_EQ(read_file(events.path()), before) << size;
        // Told once, and there is nothing more, though there is space again.
        ASSERT_TRUE(add_one(events, 4, "tag", 4).ok() && events.flush().ok());
        ASSERT_EQ(read_file(events.path()), before) << size;
    }
}

TEST(EventFile, LeavesNoFileIfItsFirstRecordDoesNotFit) {
    const Folder folder;
    const SizeLimit limit(version_record.size() - 1);
    const auto events = EventFile::create(folder / "logs", begin);
    ASSERT_FALSE(events.ok());
    EXPECT_THAT(events.error().message, StartsWith("disk full: " + folder / "logs/events.out.tfevents."));
    EXPECT_THAT(names_in(folder / "logs"), ElementsAre());
}

class TinyDisk {
  public:
    explicit TinyDisk(const std::string& path) : path_(path) {
        std::filesystem::create_directories(path);
        error_ = ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=64k") == 0 ? 0 : errno;
    }
    ~TinyDisk() {
        if (error_ == 0) ::umount2(path_.c_str(), MNT_DETACH);
    }
    int error() const { return error_; }

  private:
    std::string path_;
    int error_ = 0;
};

TEST(EventFile, HasWholeRecordsOnADiskThatIsFull) {
    const Folder folder;
    const TinyDisk disk(folder / "disk");
    if (disk.error() != 0) GTEST_SKIP() << "cannot mount a tmpfs: " << std::strerror(disk.error());
    EventFile events = new_events(folder / "disk");
    std::string before;
    Status told = success();
    for (std::int64_t step = 1; told.ok(); ++step) {
        before = read_file(events.path());
        for (int scalar = 0; scalar < 50; ++scalar) ASSERT_TRUE(add_one(events, step, "a tag", scalar).ok());
        told = events.flush();
    }
    EXPECT_EQ(told.error().code, ExitCode::interrupted);
    EXPECT_EQ(told.error().message, "disk full: " + events.path() + ": No space left on device");
    EXPECT_GT(before.size(), 32U << 10);
    EXPECT_EQ(read_file(events.path()), before);
    EXPECT_TRUE(events.flush().ok());
}

TEST(EventFile, CanBeMoved) {
    const Folder folder;
    EventFile first = new_events(folder.path());
    ASSERT_TRUE(add_one(first, 1, "tag", 1).ok());
    {
        EventFile second = std::move(first);
        ASSERT_TRUE(add_one(second, 2, "tag", 2).ok());
    }
    const auto names = names_in(folder.path());
    ASSERT_EQ(names.size(), 1U);
    const std::size_t record =
        16 + 9 + 2 + 2 + 2 + 2 + 3 + 5;  // framing, time, step, summary, value, tag, float
    EXPECT_EQ(read_file(folder / names.front()).size(), version_record.size() + 2 * record);
}

}  // namespace
}  // namespace wq::records::logs

// How much lies on disk: the walk, and the process that makes it.
#include "node/usage/disk_meter.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/descriptor.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::usage {
namespace {

using wq::test::Folder;

constexpr std::int64_t disk_mega = 1 << 20;
constexpr std::int64_t all = 1 << 30;

void fill(const std::string& path, std::size_t bytes) {
    std::ofstream(path) << std::string(bytes, 'x');
}

void make_files(const std::string& folder, int count) {
    std::filesystem::create_directories(folder);
    for (int i = 0; i < count; ++i) fill(folder + "/" + std::to_string(i), 0);
}

DiskUse use_of(const std::vector<std::string>& folders) {
    DiskWalk walk(folders);
    EXPECT_TRUE(walk.go_on(all));
    return walk.found();
}

TEST(DiskWalk, CountsEachFileOnceAndFollowsNoLink) {
    const Folder folder;
    const Folder elsewhere;
    fill(elsewhere / "large", 8 * disk_mega);
    std::filesystem::create_directories(folder / "a/b/c");
    fill(folder / "a/b/c/one", 3 * disk_mega);
    fill(folder / "two", 2 * disk_mega);
    std::filesystem::create_hard_link(folder / "two", folder / "a/two-again");
    std::filesystem::create_symlink(elsewhere.path(), folder / "link");
    const DiskUse use = use_of({folder.path(), folder / "no-such"});
    EXPECT_EQ(use.files, 7);
    EXPECT_GE(use.bytes, 5 * disk_mega);
    EXPECT_LT(use.bytes, 6 * disk_mega);
    std::filesystem::create_symlink(folder.path(), elsewhere / "sandbox");  // but one that is given is
    EXPECT_EQ(use_of({elsewhere / "sandbox"}).files, 7);
}

TEST(DiskWalk, GoesOnWhereItWas) {
    const Folder folder;
    for (const char* name : {"a", "a/b", "c", "c/d", "c/d/e", "f"}) make_files(folder / name, 3);
    DiskWalk walk({folder.path()});
    int turns = 1;
    for (; !walk.go_on(1); ++turns) ASSERT_EQ(walk.found().files, turns);
    EXPECT_EQ(walk.found().files, 24);
    EXPECT_EQ(turns, 25);
}

// A file system may take long for each: the clock is looked at after each folder and entry.
TEST(DiskWalk, GetsFurtherInEachTurnHoweverShort) {
    const Folder folder;
    for (const char* name : {"a", "b", "c"}) make_files(folder / name, 2);
    for (const char* name : {"d", "e"}) make_files(folder / name, 0);
    DiskWalk walk({folder.path()});
    int turns = 1;
    for (; !walk.go_on(all, Instant{}); ++turns) ASSERT_LT(turns, 100);
    EXPECT_EQ(walk.found().files, 11);
    EXPECT_GT(turns, 11 + 5);
    EXPECT_FALSE(walk.in_one_turn());
    EXPECT_TRUE(DiskWalk({folder.path()}).go_on(all));
}

// However deep: a path has 4096 bytes at most.
TEST(DiskWalk, NoPathIsTooLong) {
    constexpr int depth = 100;
    const std::string name(100, 'n');
    const Folder folder;
    Descriptor in(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
    for (int i = 0; i < depth; ++i) {
        ASSERT_EQ(mkdirat(in.get(), name.c_str(), 0700), 0);
        in.reset(openat(in.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    }
    const Descriptor file(openat(in.get(), "file", O_WRONLY | O_CREAT, 0600));
    const std::string text(3 * disk_mega, 'x');
    ASSERT_EQ(write(file.get(), text.data(), text.size()), 3 * disk_mega);
    make_files(folder / "beside", 2);
    const DiskUse use = use_of({folder.path()});
    EXPECT_EQ(use.files, depth + 4);
    EXPECT_GE(use.bytes, 3 * disk_mega);
}

TEST(DiskWalk, AFolderThatIsMovedMeanwhileHidesNoOther) {
    const Folder folder;
    const Folder elsewhere;
    for (const char* name : {"a", "b", "c"}) make_files(folder / name + "/in/below", 3);
    DiskWalk walk({folder.path()});
    // These three, and of one what is in it down to a file.
    while (walk.found().files < 6) ASSERT_FALSE(walk.go_on(1));
    for (const char* name : {"a", "b", "c"})
        std::filesystem::rename(folder / name + "/in/below", elsewhere / name);
    EXPECT_TRUE(walk.go_on(all));
    EXPECT_EQ(walk.found().files, 10);
}

DiskMeter::Answer answer_of(DiskMeter& meter) {
    for (;;) {
        pollfd ready{meter.descriptor(), POLLIN, 0};
        if (poll(&ready, 1, launcher::test::patience_ms) == 0) throw std::runtime_error("no answer");
        if (const auto answer = meter.answer()) return *answer;
        if (!meter.running()) throw std::runtime_error("it is gone");
    }
}

class DiskMeters : public testing::Test {
  protected:
    DiskMeters() : pid(meter.start()) { EXPECT_GT(pid, 0); }
    ~DiskMeters() override {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
    }
    DiskMeter::Answer ask(std::uint64_t number, const std::string& path) {
        meter.ask(number, {path}, now);
        return answer_of(meter);
    }

    const Folder folder;
    const Instant now = instant_now();
    DiskMeter meter;
    pid_t pid;
};

TEST_F(DiskMeters, AnswerOneAfterTheOther) {
    fill(folder / "one", 3 * disk_mega);
    fill(folder / "two", 3 * disk_mega);
    EXPECT_FALSE(meter.answer());
    meter.ask(7, {folder.path()}, now);
    EXPECT_TRUE(meter.busy());
    const DiskMeter::Answer answer = answer_of(meter);
    EXPECT_FALSE(meter.busy());
    EXPECT_EQ(answer.number, 7U);
    EXPECT_TRUE(answer.whole);
    EXPECT_EQ(answer.use.files, 2);
    EXPECT_GE(answer.use.bytes, 6 * disk_mega);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    EXPECT_THROW(answer_of(meter), std::runtime_error);
    EXPECT_FALSE(meter.running());
    pid = meter.start();
    EXPECT_EQ(ask(9, folder.path()).use.files, 2);
}

TEST_F(DiskMeters, GiveOthersATurnWhereThereAreManyFiles) {
    make_files(folder / "many", 1000);
    make_files(folder / "few", 3);
    const DiskMeter::Answer first = ask(1, folder / "many");
    EXPECT_FALSE(first.whole);
    EXPECT_LT(first.use.files, 1000);
    const DiskMeter::Answer other = ask(2, folder / "few");
    EXPECT_TRUE(other.whole);
    EXPECT_EQ(other.use.files, 3);
    DiskMeter::Answer last = first;
    while (!last.whole) {
        const DiskMeter::Answer next = ask(1, folder / "many");
        ASSERT_GT(next.use.files, last.use.files);
        last = next;
    }
    EXPECT_EQ(last.use.files, 1000);
}

TEST_F(DiskMeters, ForgetTheWalksOfTasksThatHaveEnded) {
    make_files(folder / "many", 1000);
    const DiskMeter::Answer first = ask(1, folder / "many");
    meter.forget(1);
    meter.forget(2);
    EXPECT_EQ(ask(1, folder / "many").use.files, first.use.files);
}

TEST_F(DiskMeters, ThatDoNotAnswerAreEnded) {
    EXPECT_EQ(meter.late_at(), std::nullopt);
    kill(pid, SIGSTOP);
    meter.ask(5, {folder.path()}, now);
    ASSERT_TRUE(meter.late_at());
    EXPECT_GT(*meter.late_at(), now);
    EXPECT_EQ(meter.give_up(), 5U);
    EXPECT_FALSE(meter.running());
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
    pid = meter.start();
    EXPECT_TRUE(ask(6, folder.path()).whole);
}

}  // namespace
}  // namespace wq::node::usage

// The parts that measure, each alone.
#include "host/monitor.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host/disk_meter.h"
#include "unit/host/launcher_support.h"

namespace wq::host {
namespace {

using core::unsaid;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wq::test::Folder;

constexpr std::int64_t mega = 1 << 20;

ProcessSample process(pid_t pid, std::int64_t cpu_us, std::int64_t resident_kb = 1024) {
    ProcessSample sample;
    sample.pid = pid;
    sample.began = static_cast<std::uint64_t>(pid);
    sample.cpu_us = cpu_us;
    sample.resident_kb = resident_kb;
    return sample;
}

rusage usage_of(std::int64_t cpu_us) {
    rusage usage{};
    usage.ru_utime.tv_sec = cpu_us / 1000000;
    usage.ru_utime.tv_usec = cpu_us % 1000000;
    return usage;
}

const Instant start{seconds(100)};

TEST(Monitor, CountsNoTimeTwiceAndLosesNone) {
    Monitor monitor({true, {}}, start);
    monitor.take({process(1, 100), process(2, 5000), process(3, 700)}, {}, start + milliseconds(100));
    EXPECT_EQ(monitor.usage().cpu_time, 5800);
    // 2 was waited for by 1 after 1 was read: what was seen stays.
    monitor.take({process(1, 100), process(3, 800)}, {}, start + milliseconds(600));
    EXPECT_EQ(monitor.usage().cpu_time, 5800);
    monitor.take({process(1, 5200), process(3, 900)}, {}, start + milliseconds(1100));
    EXPECT_EQ(monitor.usage().cpu_time, 6100);
    // An orphan is waited for by us: from then on it is in no tree.
    monitor.waited_for(3, usage_of(1000), std::nullopt);
    monitor.waited_for(99, usage_of(77777), std::nullopt);  // another task's
    monitor.take({process(1, 5300)}, {}, start + milliseconds(1600));
    EXPECT_EQ(monitor.usage().cpu_time, 6300);
    monitor.ended(usage_of(5400), std::nullopt, {process(4, 50)}, start + seconds(2));
    EXPECT_EQ(monitor.usage().cpu_time, 6450);
    EXPECT_EQ(monitor.usage().processes, 3);
    EXPECT_EQ(monitor.usage().processes_at_once, 3);
}

TEST(Monitor, TimeOfWhomNobodyWaitsForIsKept) {
    const auto parent = [](std::int64_t own, std::int64_t waited) {
        ProcessSample sample = process(1, own + waited);
        sample.waited_cpu_us = waited;
        return sample;
    };
    Monitor monitor({true, {}}, start);
    const std::int64_t second = 1000000;
    monitor.take({parent(0, 0), process(2, 3 * second), process(3, 5 * second), process(4, second)}, {},
                 start + seconds(1));
    monitor.take({parent(0, 0), process(2, 4 * second)}, {}, start + seconds(2));
    // 3 was waited for a little later; 4 was only not found; then 2 ends, and nobody waits for it.
    monitor.take({parent(second, 5 * second), process(2, 4 * second), process(4, second)}, {},
                 start + seconds(3));
    EXPECT_EQ(monitor.usage().cpu_time, 11 * second);
    monitor.take({parent(second, 5 * second), process(4, second)}, {}, start + seconds(4));
    monitor.take({parent(second, 5 * second), process(4, second)}, {}, start + seconds(5));
    monitor.take({parent(2 * second, 5 * second), process(4, second)}, {}, start + seconds(6));
    EXPECT_NEAR(static_cast<double>(monitor.usage().cpu_time), 12e6, 1e5);
    EXPECT_EQ(monitor.usage().processes, 4);
}

TEST(Monitor, CoresAreTheBusiestSecond) {
    Monitor monitor({true, {}}, start);
    monitor.take({process(1, 400000)}, {}, start + milliseconds(500));
    EXPECT_EQ(monitor.usage().cores, unsaid);
    monitor.take({process(1, 500000)}, {}, start + seconds(1));
    EXPECT_EQ(monitor.usage().cores, 500);
    monitor.take({process(1, 3500000)}, {}, start + seconds(3));
    EXPECT_EQ(monitor.usage().cores, 1500);
    monitor.ended(usage_of(3500000), std::nullopt, {}, start + seconds(9));
    EXPECT_EQ(monitor.usage().cores, 1500);
}

TEST(Monitor, CoresAreHeldToTheirLimitOverFiveSecondsAndWithATolerance) {
    Monitor monitor({false, {1000, unsaid, unsaid, unsaid}}, start);
    monitor.take({process(1, 4000000)}, {}, start + seconds(1));
    EXPECT_EQ(monitor.excess(), core::Sizes{});
    monitor.take({process(1, 5400000)}, {}, start + seconds(5));
    EXPECT_EQ(monitor.excess(), core::Sizes{});
    monitor.take({process(1, 11000000)}, {}, start + seconds(10));
    EXPECT_EQ(monitor.excess().cores, 1000);
}

TEST(Monitor, MemoryThatIsSharedIsAskedForOnlyWhenItMatters) {
    Monitor monitor({true, {unsaid, 100, unsaid, unsaid}}, start);
    const std::vector<ProcessSample> one{process(1, 0, 50 << 10)};
    EXPECT_FALSE(monitor.wants_proportional(one, 50 << 10));
    EXPECT_TRUE(monitor.wants_proportional(one, 101 << 10));  // over its limit
    const std::vector<ProcessSample> two{process(1, 0, 30 << 10), process(2, 0, 30 << 10)};
    EXPECT_TRUE(Monitor({true, {}}, start).wants_proportional(two, 60 << 10));
    Monitor same({true, {}}, start);
    int asked = 0;
    for (int i = 0; i < 20; ++i) {
        asked += same.wants_proportional(two, 60 << 10) ? 1 : 0;
        same.take(two, {40 << 10, false, 0}, start + milliseconds(500 * i));
    }
    EXPECT_GE(asked, 2);
    EXPECT_LE(asked, 3);
    EXPECT_EQ(same.usage().memory, 40);
}

TEST(TreeReader, ReadsAProcessAndWhatItWaitedFor) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            for (clock_t end = clock() + CLOCKS_PER_SEC / 10; clock() < end;) {
            }
            if (write(ends[1], "0123456789", 10) != 10) _exit(1);
            _exit(0);
        }
        wait(nullptr);
        if (write(ends[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    std::string got;
    while (got.find('x') == std::string::npos) {
        char byte = 0;
        ASSERT_EQ(read(ends[0], &byte, 1), 1);
        got += byte;
    }
    TreeReader reader;
    const auto tree = reader.tree({getpid()}, {});
    const auto found =
        std::find_if(tree.begin(), tree.end(), [&](const ProcessSample& one) { return one.pid == child; });
    ASSERT_NE(found, tree.end());
    EXPECT_EQ(tree.front().pid, getpid());
    EXPECT_GE(found->cpu_us, 50000);
    EXPECT_GE(found->bytes_written, 11);
    EXPECT_FALSE(found->ended);
    EXPECT_GT(found->resident_kb, 0);
    kill(child, SIGKILL);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
    const auto zombie = reader.one(child);
    ASSERT_TRUE(zombie);
    EXPECT_TRUE(zombie->ended);
    EXPECT_GE(zombie->bytes_written, 11);  // as yet
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(reader.one(child));
    for (const int end : ends) close(end);
}

void fill(const std::string& path, std::size_t bytes) {
    std::ofstream(path) << std::string(bytes, 'x');
}

TEST(DiskUse, CountsEachFileOnceAndFollowsNoLink) {
    const Folder folder;
    const Folder elsewhere;
    fill(elsewhere / "large", 8 * mega);
    std::filesystem::create_directories(folder / "a/b/c");
    fill(folder / "a/b/c/one", 3 * mega);
    fill(folder / "two", 2 * mega);
    std::filesystem::create_hard_link(folder / "two", folder / "a/two-again");
    std::filesystem::create_symlink(elsewhere.path(), folder / "link");
    const DiskUse use = disk_use({folder.path(), folder / "no-such"}, [](const DiskUse&) { return true; });
    EXPECT_EQ(use.files, 7);
    EXPECT_GE(use.bytes, 5 * mega);
    EXPECT_LT(use.bytes, 6 * mega);
    std::filesystem::create_symlink(folder.path(), elsewhere / "sandbox");  // but one that is given is
    EXPECT_EQ(disk_use({elsewhere / "sandbox"}, [](const DiskUse&) { return true; }).files, 7);
    const DiskUse few = disk_use({folder.path()}, [](const DiskUse& sofar) { return sofar.files < 2; });
    EXPECT_EQ(few.files, 2);
}

DiskMeter::Answer answer_of(DiskMeter& meter) {
    for (;;) {
        pollfd ready{meter.descriptor(), POLLIN, 0};
        if (poll(&ready, 1, test::patience_ms) == 0) throw std::runtime_error("no answer");
        if (const auto answer = meter.answer()) return *answer;
        if (!meter.running()) throw std::runtime_error("it is gone");
    }
}

TEST(DiskMeter, AnswersOneAfterTheOtherAndStopsWhereItHasSeenEnough) {
    const Folder folder;
    fill(folder / "one", 3 * mega);
    fill(folder / "two", 3 * mega);
    DiskMeter meter;
    const pid_t pid = meter.start();
    ASSERT_GT(pid, 0);
    EXPECT_FALSE(meter.answer());
    meter.ask(7, {folder.path()}, 0);
    EXPECT_TRUE(meter.busy());
    const DiskMeter::Answer all = answer_of(meter);
    EXPECT_FALSE(meter.busy());
    EXPECT_EQ(all.number, 7U);
    EXPECT_EQ(all.use.files, 2);
    EXPECT_GE(all.use.bytes, 6 * mega);
    meter.ask(8, {folder.path()}, mega);
    EXPECT_EQ(answer_of(meter).use.files, 1);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    EXPECT_THROW(answer_of(meter), std::runtime_error);
    EXPECT_FALSE(meter.running());
    const pid_t next = meter.start();
    meter.ask(9, {folder.path()}, 0);
    EXPECT_EQ(answer_of(meter).use.files, 2);
    kill(next, SIGKILL);
    waitpid(next, nullptr, 0);
}

}  // namespace
}  // namespace wq::host

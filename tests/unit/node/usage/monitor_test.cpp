// The parts that measure, each alone.
#include "node/usage/monitor.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "unit/node/launcher/launcher_support.h"

namespace wq::node::usage {
namespace {

using engine::model::unsaid;
using std::chrono::milliseconds;
using std::chrono::seconds;

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

TEST(Monitor, SamplesInWhichAProcessWaitsForADiskAreCounted) {
    Monitor monitor({true, {}}, start);
    EXPECT_EQ(monitor.disk_wait(), unsaid) << "there was no sample";
    ProcessSample waits = process(2, 10);
    waits.waits_for_disk = true;
    ProcessSample waits_too = process(3, 10);
    waits_too.waits_for_disk = true;
    int ms = 0;
    const auto look = [&](const std::vector<ProcessSample>& processes) {
        monitor.take(processes, {}, start + milliseconds(ms += 100));
    };
    look({process(1, 10), process(2, 10)});
    EXPECT_EQ(monitor.disk_wait(), 0);
    look({process(1, 10), waits, waits_too});
    EXPECT_EQ(monitor.disk_wait(), 500) << "a sample counts once, however many processes wait";
    look({waits});
    EXPECT_EQ(monitor.disk_wait(), 666);
    look({});
    EXPECT_EQ(monitor.disk_wait(), 666) << "it had ended";
}

// A /proc with one process, 7.
class OneProcess {
  public:
    explicit OneProcess(const std::string& name_and_state) {
        std::filesystem::create_directories(folder_ + "/7");
        std::ofstream(folder_ + "/7/stat")
            << "7 " << name_and_state
            << " 1 7 7 0 -1 4194560 11 22 3 44 5 6 7 8 20 0 2 0 999 4096000 50 0 0 0 0 0 0 0 0 0 0\n";
        std::ofstream(folder_ + "/7/io") << "rchar: 100\nwchar: 200\n";
    }
    ~OneProcess() { std::filesystem::remove_all(folder_); }
    OneProcess(const OneProcess&) = delete;
    OneProcess& operator=(const OneProcess&) = delete;

    std::optional<ProcessSample> sample() const { return ProcessTreeReader(folder_.c_str()).one(7); }

  private:
    std::string folder_ = testing::TempDir() + "one-process-" + std::to_string(::getpid());
};

TEST(ProcessTreeReader, ReadsStateAndFiguresBehindAnyName) {
    for (const char* name : {"(sh)", "(a b)", "(x) D 1)", "(R) Z ()"}) {
        for (const char state : std::string("RSDZXtI")) {
            const OneProcess process(std::string(name) + " " + state);
            const auto sample = process.sample();
            ASSERT_TRUE(sample.has_value()) << name << state;
            EXPECT_EQ(sample->waits_for_disk, state == 'D') << name << state;
            EXPECT_EQ(sample->ended, state == 'Z' || state == 'X') << name << state;
            EXPECT_EQ(sample->began, 999U) << name;
            EXPECT_EQ(sample->virtual_kb, 4000) << name;
            EXPECT_EQ(sample->bytes_written, 200) << name;
        }
    }
    EXPECT_FALSE(OneProcess("sh D").sample().has_value()) << "the kernel puts names in brackets";
}

TEST(Monitor, PointsHaveTheirTimeAndPeaksTheTimeWhenTheyWereReached) {
    engine::model::Watch watch{true, {}};
    watch.series = true;
    Monitor monitor(watch, start);
    const auto look = [&](int ms, std::int64_t memory_kb, const std::vector<std::string>& labels) {
        monitor.take({process(1, ms)}, {.kb = memory_kb}, start + milliseconds(ms));
        monitor.record_point(labels, start + milliseconds(ms));
    };
    look(300, 4096, {});
    look(800, 8192, {"begun", "half"});
    look(1400, 2048, {"end"});
    const engine::model::MonitorReport report = monitor.take_report();
    std::vector<std::tuple<std::int64_t, std::string, std::int64_t>> points;
    for (const engine::model::UsagePoint& point : report.points)
        points.emplace_back(point.at_us, point.label, point.usage.memory);
    EXPECT_THAT(points, testing::ElementsAre(std::tuple(300'000, "", 4), std::tuple(800'000, "begun", 8),
                                             std::tuple(800'000, "half", 8), std::tuple(1'400'000, "end", 2),
                                             std::tuple(1'400'000, "", 2)));
    EXPECT_EQ(report.peak_us.memory, 800'000);
    EXPECT_EQ(report.peak_us.cpu_time, 1'400'000);
}

TEST(Events, AreThoseOfTheFilesSinceTheLastLook) {
    std::string folder = testing::TempDir() + "events-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const auto write = [&](const std::string& name, const std::string& text, std::ios::openmode how) {
        std::ofstream(folder + "/" + name, how) << text;
    };
    EXPECT_EQ(SnapshotEvents::in(folder, wall_now()), nullptr);
    write(engine::model::snapshots_file, R"({"progress": {"events": [{"label": "begun", "on-create": true},
        {"label": "half", "pattern": "^half [0-9]+$", "count": 1}, {"label": "cut", "on-truncate": true}]}})",
          std::ios::out);
    const auto events = SnapshotEvents::in(folder, wall_now());
    ASSERT_NE(events, nullptr);
    const auto seen = [&] { return events->new_labels(); };
    EXPECT_THAT(seen(), testing::IsEmpty());
    write("progress", "half ", std::ios::out);
    EXPECT_THAT(seen(), testing::ElementsAre("begun"));
    write("progress", "1", std::ios::app);
    EXPECT_THAT(seen(), testing::IsEmpty()) << "the line has not ended";
    write("progress", "\nother\nhalf 2\n", std::ios::app);
    EXPECT_THAT(seen(), testing::ElementsAre("half")) << "once";
    write("progress", "half 3\n", std::ios::out);
    EXPECT_THAT(seen(), testing::ElementsAre("cut"));
    std::filesystem::remove_all(folder);
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
    EXPECT_EQ(monitor.excess(), engine::model::Sizes{});
    monitor.take({process(1, 5400000)}, {}, start + seconds(5));
    EXPECT_EQ(monitor.excess(), engine::model::Sizes{});
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

rusage peak_of(std::int64_t kb) {
    rusage usage{};
    usage.ru_maxrss = kb;
    return usage;
}

// In a group, pages of files that it has mapped do not count, and at its end no figure tells them apart.
TEST(Monitor, AtTheEndMemoryIsRaisedByWhatNoSampleHasSeen) {
    const std::int64_t gb = 1 << 20;
    Monitor maps({true, {unsaid, 4096, unsaid, unsaid}}, start);
    maps.memory_is_held = true;
    maps.take({process(1, 0, 20 * gb)}, {300 << 10, false, 0}, start + seconds(1));
    maps.take({process(1, 0, 2 * gb)}, {200 << 10, false, 0}, start + seconds(2));
    maps.ended(peak_of(20 * gb + (5 << 10)), std::nullopt, {}, start + seconds(3));
    EXPECT_EQ(maps.usage().memory, 305);
    Monitor grows({true, {}}, start);
    grows.take({process(1, 0, 100 << 10)}, {90 << 10, false, 0}, start + milliseconds(100));
    grows.ended(peak_of(2 * gb), std::nullopt, {}, start + milliseconds(400));
    EXPECT_EQ(grows.usage().memory, 2038);
    Monitor children({true, {}}, start);
    children.take({process(1, 0, gb), process(2, 0, gb), process(3, 0, gb)}, {3 * gb, false, 0}, start);
    children.ended(peak_of(2 * gb), std::nullopt, {}, start + seconds(1));
    EXPECT_EQ(children.usage().memory, 3072);
    Monitor unseen({true, {}}, start);
    unseen.take({process(1, 0, 2 * gb)}, {0, true, 0}, start);
    unseen.ended(peak_of(2 * gb), std::nullopt, {}, start + seconds(1));
    EXPECT_EQ(unseen.usage().memory, 2048);
}

TEST(Monitor, AConnectionThatIsMissedOnceIsNotClosed) {
    Monitor monitor({true, {}}, start);
    ProcessSample talks = process(1, 0);
    talks.sockets = {77};
    monitor.take({talks}, {}, start);
    monitor.take(TrafficOf{{77, {1000, 100}}}, start);
    monitor.take({process(2, 0)}, {}, start);  // its process was not found
    monitor.take(TrafficOf{{77, {1500, 150}}}, start);
    EXPECT_EQ(monitor.usage().bytes_received, 1000);
    monitor.take({talks}, {}, start);
    monitor.take(TrafficOf{{77, {2000, 200}}}, start);
    EXPECT_EQ(monitor.usage().bytes_received, 2000);
    EXPECT_EQ(monitor.usage().bytes_sent, 200);
    monitor.take(TrafficOf{}, start);
    monitor.take(TrafficOf{{77, {10, 1}}}, start);  // another of that number
    EXPECT_EQ(monitor.usage().bytes_received, 2010);
    EXPECT_EQ(monitor.usage().bytes_sent, 201);
}

TEST(Monitor, OneThatWasGivenAPidAgainIsAnother) {
    Monitor monitor({true, {}}, start);
    monitor.take({process(1, 100), process(2, 5000)}, {}, start);
    EXPECT_TRUE(monitor.holds(2));
    EXPECT_TRUE(monitor.holds(2, 2));
    EXPECT_FALSE(monitor.holds(2, 3));
    ProcessSample other = process(2, 0);
    other.began = 3;
    monitor.waited_for(2, usage_of(90000), other);
    EXPECT_TRUE(monitor.holds(2));
    monitor.waited_for(2, usage_of(6000), process(2, 6000));
    EXPECT_FALSE(monitor.holds(2));
    monitor.take({process(1, 100)}, {}, start + milliseconds(500));
    EXPECT_EQ(monitor.usage().cpu_time, 6100);
}

// By comparing each with each it would take longer than any test may.
TEST(Monitor, ATreeMayHaveVeryManyProcesses) {
    constexpr pid_t many = 400000;
    std::vector<ProcessSample> processes;
    for (pid_t pid = 1; pid <= many; ++pid) processes.push_back(process(pid, 100));
    Monitor monitor({true, {}}, start);
    monitor.take(processes, {}, start);
    std::reverse(processes.begin(), processes.end());
    monitor.take(processes, {}, start + seconds(1));
    monitor.take({process(many + 1, 0)}, {}, start + seconds(2));
    EXPECT_EQ(monitor.usage().processes, many + 1);
    EXPECT_EQ(monitor.usage().processes_at_once, many);
}

TEST(ProcessTreeReader, ReadsAProcessAndWhatItWaitedFor) {
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
    ProcessTreeReader reader;
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
    if (zombie->bytes_told)
        EXPECT_GE(zombie->bytes_written, 11);  // as yet
    else
        EXPECT_NE(geteuid(), 0u) << "root is told";
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(reader.one(child));
    for (const int end : ends) close(end);
}

TEST(ProcessTreeReader, WhoShowsNoSignThatItRanIsReadAgainAfterAFewTimes) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        for (;;) pause();
    }
    ProcessTreeReader reader;
    auto tree = reader.tree({child}, {});
    ASSERT_EQ(tree.size(), 1U);
    const auto sockets = tree.front().sockets;
    ASSERT_GE(sockets.size(), 2U);
    // As if it had opened them since, in less than a tick. (Being forked it may as yet show that it runs.)
    int taken_over = 0;
    int passes = 0;
    do {
        tree.front().sockets.clear();
        tree = reader.tree({child}, tree);
        if (tree.front().sockets.empty()) ++taken_over;
    } while (++passes < 100);
    EXPECT_GT(taken_over, 50);  // it costs more than all else
    EXPECT_LT(taken_over, 95);
    for (const int end : ends) close(end);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace wq::node::usage

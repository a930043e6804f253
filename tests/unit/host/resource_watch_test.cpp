// The watch alone, by a clock that goes as the test says.
#include "host/resource_watch.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "host/process_tree.h"
#include "unit/host/launcher_support.h"
#include "unit/host/shown_group.h"

namespace wq::host::test {
namespace {

using core::unsaid;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t mega = 1 << 20;

class Watching : public testing::Test {
  protected:
    ~Watching() override {
        for (const pid_t pid : descendants_of(getpid())) kill(pid, SIGKILL);
        while (wait(nullptr) > 0) {
        }
    }

    // A task that does nothing, whose folder is `name`.
    Lane& task(std::uint64_t serial, const std::string& name, std::int64_t disk_limit_mb, Instant started) {
        std::filesystem::create_directories(folder / name);
        Lane& lane = *lanes.acquire();
        lane.order.serial = serial;
        lane.order.order.directory = folder / name;
        lane.order.order.watch = {true, {unsaid, unsaid, disk_limit_mb, unsaid}};
        lane.started = started;
        lane.pid = fork();
        if (lane.pid == 0) {
            close_from(3);
            for (;;) pause();
        }
        watch.begin(lane);
        return lane;
    }

    // One that has `bytes` of memory, to be held to `limit_mb`.
    Lane& large_task(std::uint64_t serial, std::size_t bytes, std::int64_t limit_mb, Instant started) {
        Lane& lane = *lanes.acquire();
        lane.order.serial = serial;
        lane.order.order.watch = {true, {unsaid, limit_mb, unsaid, unsaid}};
        lane.started = started;
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        lane.pid = fork();
        if (lane.pid == 0) {
            const std::vector<char> memory(bytes, 'x');
            if (write(ends[1], memory.data(), 1) != 1) _exit(1);
            for (;;) pause();
        }
        char byte = 0;
        EXPECT_EQ(read(ends[0], &byte, 1), 1);
        for (const int end : ends) close(end);
        return lane;
    }

    void take_answer(Instant now) {
        bool answered = false;
        poller.wait(patience_ms, [&](Source source, std::uint32_t, std::size_t) {
            answered = source == Source::disk_meter;
        });
        ASSERT_TRUE(answered);
        watch.take_disk_answer(now);
    }

    void make_files(const std::string& name, int count) {
        for (int i = 0; i < count; ++i) std::ofstream(folder / (name + "/" + std::to_string(i)));
    }

    static pid_t meter() {
        for (const pid_t pid : descendants_of(getpid()))
            if (read_file("/proc/" + std::to_string(pid) + "/comm") == "wq_disk\n") return pid;
        return 0;
    }

    const Folder folder;
    char* none = nullptr;
    const BaseEnvironment base{&none, {}, {}};
    Lanes lanes{base, folder / "scratch", ""};
    Leftovers leftovers{lanes, false};
    Limits limits{lanes, leftovers};
    Poller poller;
    OomCounter oom;
    ResourceWatch watch{leftovers, limits, poller, oom};
    const Instant start = instant_now();
};

TEST_F(Watching, ATaskWithManyFilesDoesNotKeepOthersFromTheirLimits) {
    Lane& many = task(1, "many", unsaid, start);
    make_files("many", 3000);
    watch.check(start + seconds(1));
    Lane& large = task(2, "large", 1, start + seconds(1));
    std::ofstream(folder / "large/file") << std::string(3 * mega, 'x');
    for (int i = 0; i < 3 && large.verdict == Verdict::none; ++i) {
        take_answer(start + seconds(2 + i));
        watch.check(start + seconds(2 + i));
    }
    EXPECT_EQ(large.verdict, Verdict::exhausted);
    EXPECT_EQ(many.monitor->usage().files, unsaid);
    // What was seen in part is no peak, and at its end there is no time to look at all.
    watch.finish(many);
    ASSERT_TRUE(many.outcome.measured);
    EXPECT_EQ(many.outcome.measured->usage.files, unsaid);
    EXPECT_EQ(many.outcome.measured->usage.disk, unsaid);
    watch.finish(large);
    EXPECT_EQ(large.outcome.measured->exceeded.disk_mb, 1);
    EXPECT_GE(large.outcome.measured->usage.disk, 3);
}

TEST_F(Watching, TasksOfOneProcessAreHeldToTheirMemoryWithoutAWalk) {
    constexpr std::int64_t limit_mb = 50;
    for (std::uint64_t serial = 1; serial <= 3; ++serial) {
        Lane& lane = large_task(serial, 128 * mega, limit_mb, start);
        watch.begin(lane);
        ASSERT_TRUE(watch.next());
        lane.monitor->next_disk = Instant::max();
        // It rests after a walk (3 ms, seen) for longer than after all else of a look.
        watch.check(*watch.next());
        EXPECT_EQ(lane.verdict, Verdict::out_of_memory);
        watch.finish(lane);
        EXPECT_EQ(lane.outcome.measured->exceeded.memory_mb, limit_mb);
        EXPECT_GE(lane.outcome.measured->usage.memory, 128);
    }
}

TEST_F(Watching, AnAnswerInPartIsHeldAgainstTheLimit) {
    Lane& many = task(1, "many", 1, start);
    std::ofstream(folder / "many/file") << std::string(3 * mega, 'x');
    make_files("many", 3000);
    watch.check(start + seconds(1));
    for (int i = 0; i < 12 && many.verdict == Verdict::none; ++i) {
        take_answer(start + seconds(1));
        watch.check(start + seconds(1));
    }
    EXPECT_EQ(many.verdict, Verdict::exhausted);
    EXPECT_THAT(many.outcome.reason, testing::HasSubstr("MB of disk, its limit is 1 MB"));
}

TEST_F(Watching, WhatIsMovedDuringAWalkIsHeldAgainstNoLimit) {
    Lane& lane = task(1, "moves", 3, start);
    std::filesystem::create_directories(folder / "moves/many/last");
    make_files("moves/many", 600);
    std::ofstream(folder / "moves/large") << std::string(2 * mega, 'x');
    watch.check(start + seconds(1));
    take_answer(start + seconds(1));  // the file is counted, and the folder `last` is not yet visited
    std::filesystem::rename(folder / "moves/large", folder / "moves/many/last/large");
    watch.check(start + seconds(1));
    take_answer(start + seconds(1));
    EXPECT_EQ(lane.verdict, Verdict::none);
    for (int turn = 0; turn < 12 && lane.monitor->usage().disk < 2; ++turn) {
        watch.check(start + seconds(3));
        take_answer(start + seconds(3));
    }
    EXPECT_EQ(lane.verdict, Verdict::none);
    EXPECT_GE(lane.monitor->usage().disk, 2);
    EXPECT_LE(lane.monitor->usage().disk, 3);
    // It grows on: two walks find that, of some turns each.
    std::ofstream(folder / "moves/many/last/more") << std::string(3 * mega, 'x');
    for (int i = 5; i < 17 && lane.verdict == Verdict::none; ++i) {
        watch.check(start + seconds(i));
        take_answer(start + seconds(i));
    }
    EXPECT_EQ(lane.verdict, Verdict::exhausted);
    EXPECT_GE(lane.monitor->usage().disk, 5);
}

TEST_F(Watching, AMeterThatDoesNotAnswerIsReplacedByAnother) {
    Lane& stuck = task(1, "stuck", unsaid, start);
    make_files("stuck", 1);
    watch.check(start + seconds(1));
    take_answer(start + seconds(1));
    EXPECT_EQ(stuck.monitor->usage().files, 1);
    const pid_t first = meter();
    ASSERT_GT(first, 0);
    kill(first, SIGSTOP);
    const Instant asked = start + hours(1);
    watch.check(asked);
    Lane& large = task(2, "large", 1, asked);
    std::ofstream(folder / "large/file") << std::string(3 * mega, 'x');
    watch.check(asked + seconds(59));
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(first), &info, WEXITED | WNOHANG | WNOWAIT), 0);
    EXPECT_EQ(info.si_pid, 0);  // it may only be slow
    EXPECT_LE(watch.next(), asked + seconds(60));
    watch.check(asked + seconds(60));
    int status = 0;
    EXPECT_EQ(waitpid(first, &status, 0), first);
    EXPECT_TRUE(WIFSIGNALED(status));
    take_answer(asked + seconds(61));
    EXPECT_EQ(large.verdict, Verdict::exhausted);
    EXPECT_TRUE(stuck.monitor->disk_hangs);
    watch.finish(large);
    watch.check(asked + hours(1));
    take_answer(asked + hours(1));
    make_files("stuck", 2);
    watch.finish(stuck);  // what has answered since is looked at once more
    EXPECT_EQ(stuck.outcome.measured->usage.files, 2);
}

// Tasks in groups of plain files: nobody is in them, so what the kernel says is what the test writes.
class WatchingInAGroup : public Watching {
  protected:
    WatchingInAGroup() {
        shown.write("memory.stat", "anon 104857600\nfile 21474836480\n");
        shown.write("cpu.stat", "usage_usec 5000\n");
        if (!shown.group.limit_memory(limit_mb)) ADD_FAILURE();
    }

    Lane& begin(std::int64_t limit) {
        Lane& lane = large_task(1, mega, limit, start);
        lane.group = std::move(shown.owned);
        watch.begin(lane);
        lane.monitor->next_disk = Instant::max();
        watch.check(*watch.next());
        return lane;
    }

    // Its main process ends so, and has had 20 GB resident, with files.
    void end(Lane& lane, int exit_code, int signal) {
        rusage usage{};
        usage.ru_maxrss = 20 << 20;
        watch.waited_for(lane.pid, &lane, usage, start + seconds(1));
        lane.outcome.ending = signal == 0 ? core::Ending::exited : core::Ending::signalled;
        lane.outcome.exit_code = exit_code;
        lane.outcome.signal = signal;
    }

    static constexpr std::int64_t limit_mb = 200;
    ShownGroup shown;
};

TEST_F(WatchingInAGroup, WhoseTaskIsKilledAtItsLimitHasHadMoreThanThat) {
    Lane& lane = begin(limit_mb);
    EXPECT_TRUE(lane.monitor->memory_is_held);
    EXPECT_EQ(lane.monitor->usage().memory, 100);
    EXPECT_EQ(lane.monitor->usage().cpu_time, 5000);
    shown.write("memory.events", "max 7\noom 1\noom_kill 2\n");
    shown.write("memory.events.local", "max 7\noom 1\noom_kill 2\n");
    end(lane, 0, SIGKILL);
    EXPECT_TRUE(watch.ended_by_kernel(lane));
    EXPECT_EQ(lane.outcome.reason, "used 201 MB of memory, its limit is 200 MB");
    watch.finish(lane);
    EXPECT_EQ(lane.outcome.measured->exceeded, (core::Sizes{unsaid, limit_mb, unsaid, unsaid}));
    EXPECT_EQ(lane.outcome.measured->usage.memory, limit_mb + 1);
}

TEST_F(WatchingInAGroup, WhoGoesOnWithoutAChildThatWasKilledSucceeds) {
    Lane& lane = begin(unsaid);
    shown.write("memory.events", "oom 0\noom_kill 1\n");
    end(lane, 0, 0);
    EXPECT_FALSE(watch.ended_by_kernel(lane));
    EXPECT_EQ(lane.verdict, Verdict::none);
    EXPECT_EQ(lane.outcome.reason, "");
    watch.finish(lane);
    EXPECT_TRUE(lane.outcome.succeeded());
    EXPECT_EQ(lane.outcome.measured->exceeded, core::Sizes{});
}

TEST_F(WatchingInAGroup, AShellTellsThatItsCommandWasKilledForALimitOfItsOwn) {
    Lane& lane = begin(limit_mb);
    shown.write("memory.events", "max 7\noom 1\noom_kill 1\n");
    shown.write("memory.events.local", "max 0\noom 0\noom_kill 0\n");
    end(lane, 137, 0);
    EXPECT_TRUE(watch.ended_by_kernel(lane));
    EXPECT_EQ(lane.outcome.reason, killed_by_kernel);
    watch.finish(lane);
    EXPECT_EQ(lane.outcome.measured->exceeded, core::Sizes{});
}

TEST_F(WatchingInAGroup, WhatWeHaveEndedIsNotTheKernels) {
    Lane& lane = begin(limit_mb);
    shown.write("memory.events", "max 7\noom 1\noom_kill 1\n");
    lane.verdict = Verdict::timed_out;
    end(lane, 0, SIGKILL);
    EXPECT_FALSE(watch.ended_by_kernel(lane));
    EXPECT_EQ(lane.outcome.reason, "");
}

// A kill that was counted is the doing of one task, and the next that is killed is nobody's.
TEST_F(WatchingInAGroup, AKillOfItsOwnIsNoOthers) {
    const std::string events = folder / "events";
    std::ofstream(events) << "oom_kill 0\n";
    oom = OomCounter({events});
    Lane& lane = begin(unsaid);
    std::ofstream(events) << "oom_kill 1\n";
    shown.write("memory.events", "oom 0\noom_kill 1\n");
    end(lane, 0, 0);
    EXPECT_FALSE(watch.ended_by_kernel(lane));
    Lane& other = task(2, "other", unsaid, start);
    end(other, 0, SIGKILL);
    EXPECT_FALSE(watch.ended_by_kernel(other));
    std::ofstream(events) << "oom_kill 2\n";
    EXPECT_TRUE(watch.ended_by_kernel(other));
}

TEST(RestOfWalksForLimits, IsLongAsFarAsNoLimitIsLateForIt) {
    EXPECT_EQ(rest_of_walks_for_limits(milliseconds(10)), seconds(2));
    EXPECT_EQ(rest_of_walks_for_limits(milliseconds(100)), seconds(5));
    EXPECT_EQ(rest_of_walks_for_limits(seconds(1)), seconds(20));
}

}  // namespace
}  // namespace wq::host::test

// The watch alone, by a clock that goes as the test says.
#include "node/usage/resource_watch.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "node/process/process_tree.h"
#include "support/folder.h"
#include "unit/node/launcher/launcher_support.h"
#include "unit/node/usage/shown_group.h"

namespace wq::node::usage::test {
namespace {

using engine::model::unsaid;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t mega = 1 << 20;

class Watching : public testing::Test {
  protected:
    ~Watching() override {
        for (const pid_t pid : process::descendants_of(getpid())) kill(pid, SIGKILL);
        while (wait(nullptr) > 0) {
        }
    }

    RunningTask& begin_task() {
        running.add(tasks.emplace_back(folder / "scratch"));
        return tasks.back();
    }

    // A task that does nothing, whose folder is `name`.
    RunningTask& task(std::uint64_t serial, const std::string& name, std::int64_t disk_limit_mb,
                      Instant started) {
        std::filesystem::create_directories(folder / name);
        RunningTask& one = begin_task();
        one.order.serial = serial;
        one.order.order.directory = folder / name;
        one.order.order.watch = {true, {unsaid, unsaid, disk_limit_mb, unsaid}};
        one.started = started;
        one.pid = fork();
        if (one.pid == 0) {
            close_from(3);
            for (;;) pause();
        }
        watch.begin(one);
        return one;
    }

    // One that has `bytes` of memory, to be held to `limit_mb`.
    RunningTask& large_task(std::uint64_t serial, std::size_t bytes, std::int64_t limit_mb, Instant started) {
        RunningTask& one = begin_task();
        one.order.serial = serial;
        one.order.order.watch = {true, {unsaid, limit_mb, unsaid, unsaid}};
        one.started = started;
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        one.pid = fork();
        if (one.pid == 0) {
            const std::vector<char> memory(bytes, 'x');
            if (write(ends[1], memory.data(), 1) != 1) _exit(1);
            for (;;) pause();
        }
        char byte = 0;
        EXPECT_EQ(read(ends[0], &byte, 1), 1);
        for (const int end : ends) close(end);
        return one;
    }

    void take_answer(Instant now) {
        bool answered = false;
        poller.wait(launcher::test::patience_ms);
        poller.visit_ready([&](process::PollSource source, std::uint32_t, std::size_t) {
            answered = source == process::PollSource::disk_meter;
        });
        ASSERT_TRUE(answered);
        watch.handle_disk_answer(now);
    }

    void make_files(const std::string& name, int count) {
        for (int i = 0; i < count; ++i) std::ofstream(folder / (name + "/" + std::to_string(i)));
    }

    static pid_t meter() {
        for (const pid_t pid : process::descendants_of(getpid()))
            if (launcher::test::read_file("/proc/" + std::to_string(pid) + "/comm") == "wq_disk\n")
                return pid;
        return 0;
    }

    const Folder folder;
    std::deque<RunningTask> tasks;
    RunningTasks running;
    Leftovers leftovers{running};
    Limits limits{running, leftovers};
    process::Poller poller;
    OomCounter oom;
    ResourceWatch watch{leftovers, limits, poller, oom};
    const Instant start = instant_now();
};

TEST_F(Watching, ATaskWithManyFilesDoesNotKeepOthersFromTheirLimits) {
    RunningTask& many = task(1, "many", unsaid, start);
    make_files("many", 3000);
    watch.check(start + seconds(1));
    RunningTask& large = task(2, "large", 1, start + seconds(1));
    std::ofstream(folder / "large/file") << std::string(3 * mega, 'x');
    for (int i = 0; i < 3 && large.verdict == Verdict::none; ++i) {
        take_answer(start + seconds(2 + i));
        watch.check(start + seconds(2 + i));
    }
    EXPECT_EQ(large.verdict, Verdict::exhausted);
    EXPECT_EQ(many.monitor->usage().files, unsaid);
    // What was seen in part is no peak. At its end there is time to look at all of one such task, not at
    // each.
    RunningTask& next = task(3, "next", unsaid, start + seconds(4));
    make_files("next", 3000);
    watch.finish(many);
    watch.finish(next);
    ASSERT_TRUE(many.outcome.measured && next.outcome.measured);
    EXPECT_EQ(many.outcome.measured->usage.files, 3000);
    EXPECT_GE(many.outcome.measured->usage.disk, 0);
    EXPECT_EQ(next.outcome.measured->usage.files, unsaid);
    EXPECT_EQ(next.outcome.measured->usage.disk, unsaid);
    watch.finish(large);
    EXPECT_EQ(large.outcome.measured->exceeded.disk_mb, 1);
    EXPECT_GE(large.outcome.measured->usage.disk, 3);
}

TEST_F(Watching, TasksOfOneProcessAreHeldToTheirMemoryWithoutAWalk) {
    constexpr std::int64_t limit_mb = 50;
    for (std::uint64_t serial = 1; serial <= 3; ++serial) {
        RunningTask& one = large_task(serial, 128 * mega, limit_mb, start);
        watch.begin(one);
        ASSERT_TRUE(watch.next());
        one.monitor->next_disk = Instant::max();
        // It rests after a walk (3 ms, seen) for longer than after all else of a look.
        watch.check(*watch.next());
        EXPECT_EQ(one.verdict, Verdict::out_of_memory);
        watch.finish(one);
        EXPECT_EQ(one.outcome.measured->exceeded.memory_mb, limit_mb);
        EXPECT_GE(one.outcome.measured->usage.memory, 128);
    }
}

TEST_F(Watching, AnAnswerInPartIsHeldAgainstTheLimit) {
    RunningTask& many = task(1, "many", 1, start);
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
    RunningTask& one = task(1, "moves", 3, start);
    std::filesystem::create_directories(folder / "moves/many/last");
    make_files("moves/many", 600);
    std::ofstream(folder / "moves/large") << std::string(2 * mega, 'x');
    watch.check(start + seconds(1));
    take_answer(start + seconds(1));  // the file is counted, and the folder `last` is not yet visited
    std::filesystem::rename(folder / "moves/large", folder / "moves/many/last/large");
    watch.check(start + seconds(1));
    take_answer(start + seconds(1));
    EXPECT_EQ(one.verdict, Verdict::none);
    for (int turn = 0; turn < 12 && one.monitor->usage().disk < 2; ++turn) {
        watch.check(start + seconds(3));
        take_answer(start + seconds(3));
    }
    EXPECT_EQ(one.verdict, Verdict::none);
    EXPECT_GE(one.monitor->usage().disk, 2);
    EXPECT_LE(one.monitor->usage().disk, 3);
    // It grows on: two walks find that, of some turns each.
    std::ofstream(folder / "moves/many/last/more") << std::string(3 * mega, 'x');
    for (int i = 5; i < 17 && one.verdict == Verdict::none; ++i) {
        watch.check(start + seconds(i));
        take_answer(start + seconds(i));
    }
    EXPECT_EQ(one.verdict, Verdict::exhausted);
    EXPECT_GE(one.monitor->usage().disk, 5);
}

TEST_F(Watching, AMeterThatDoesNotAnswerIsReplacedByAnother) {
    RunningTask& stuck = task(1, "stuck", unsaid, start);
    make_files("stuck", 1);
    watch.check(start + seconds(1));
    take_answer(start + seconds(1));
    EXPECT_EQ(stuck.monitor->usage().files, 1);
    const pid_t first = meter();
    ASSERT_GT(first, 0);
    kill(first, SIGSTOP);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(first), &info, WSTOPPED), 0);  // it could still answer before
    const Instant asked = start + hours(1);
    watch.check(asked);
    RunningTask& large = task(2, "large", 1, asked);
    std::ofstream(folder / "large/file") << std::string(3 * mega, 'x');
    watch.check(asked + seconds(59));
    info = {};
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
        shown.write("cpu.stat", "usage_usec 3600000000\n");  // more than this process can have used
        if (!shown.group.limit_memory(limit_mb)) ADD_FAILURE();
    }

    RunningTask& begin(std::int64_t limit) {
        RunningTask& one = large_task(1, mega, limit, start);
        one.group = std::move(shown.owned);
        watch.begin(one);
        one.monitor->next_disk = Instant::max();
        watch.check(*watch.next());
        return one;
    }

    // Its main process ends so, and has had 20 GB resident, with files.
    void end(RunningTask& one, int exit_code, int signal) {
        rusage usage{};
        usage.ru_maxrss = 20 << 20;
        watch.waited_for(one.pid, &one, usage, start + seconds(1));
        one.outcome.ending = signal == 0 ? engine::model::Ending::exited : engine::model::Ending::signalled;
        one.outcome.exit_code = exit_code;
        one.outcome.signal = signal;
    }

    static constexpr std::int64_t limit_mb = 200;
    ShownGroup shown;
};

TEST_F(WatchingInAGroup, WhoseTaskIsKilledAtItsLimitHasHadMoreThanThat) {
    RunningTask& one = begin(limit_mb);
    EXPECT_TRUE(one.monitor->memory_is_held);
    EXPECT_EQ(one.monitor->usage().memory, 100);
    EXPECT_EQ(one.monitor->usage().cpu_time, 3600000000);
    shown.write("memory.events", "max 7\noom 1\noom_kill 2\n");
    shown.write("memory.events.local", "max 7\noom 1\noom_kill 2\n");
    end(one, 0, SIGKILL);
    EXPECT_TRUE(watch.ended_by_kernel(one));
    EXPECT_EQ(one.outcome.reason, "used 201 MB of memory, its limit is 200 MB");
    watch.finish(one);
    EXPECT_EQ(one.outcome.measured->exceeded, (engine::model::Sizes{unsaid, limit_mb, unsaid, unsaid}));
    EXPECT_EQ(one.outcome.measured->usage.memory, limit_mb + 1);
}

TEST_F(WatchingInAGroup, WhoGoesOnWithoutAChildThatWasKilledSucceeds) {
    RunningTask& one = begin(unsaid);
    shown.write("memory.events", "oom 0\noom_kill 1\n");
    end(one, 0, 0);
    EXPECT_FALSE(watch.ended_by_kernel(one));
    EXPECT_EQ(one.verdict, Verdict::none);
    EXPECT_EQ(one.outcome.reason, "");
    watch.finish(one);
    EXPECT_TRUE(one.outcome.succeeded());
    EXPECT_EQ(one.outcome.measured->exceeded, engine::model::Sizes{});
}

TEST_F(WatchingInAGroup, AShellTellsThatItsCommandWasKilledForALimitOfItsOwn) {
    RunningTask& one = begin(limit_mb);
    shown.write("memory.events", "max 7\noom 1\noom_kill 1\n");
    shown.write("memory.events.local", "max 0\noom 0\noom_kill 0\n");
    end(one, 137, 0);
    EXPECT_TRUE(watch.ended_by_kernel(one));
    EXPECT_EQ(one.outcome.reason, killed_by_kernel);
    watch.finish(one);
    EXPECT_EQ(one.outcome.measured->exceeded, engine::model::Sizes{});
}

TEST_F(WatchingInAGroup, WhatWeHaveEndedIsNotTheKernels) {
    RunningTask& one = begin(limit_mb);
    shown.write("memory.events", "max 7\noom 1\noom_kill 1\n");
    one.verdict = Verdict::timed_out;
    end(one, 0, SIGKILL);
    EXPECT_FALSE(watch.ended_by_kernel(one));
    EXPECT_EQ(one.outcome.reason, "");
}

// A kill that was counted is the doing of one task, and the next that is killed is nobody's.
TEST_F(WatchingInAGroup, AKillOfItsOwnIsNoOthers) {
    const std::string events = folder / "events";
    std::ofstream(events) << "oom_kill 0\n";
    oom = OomCounter({events});
    RunningTask& one = begin(unsaid);
    std::ofstream(events) << "oom_kill 1\n";
    shown.write("memory.events", "oom 0\noom_kill 1\n");
    end(one, 0, 0);
    EXPECT_FALSE(watch.ended_by_kernel(one));
    RunningTask& other = task(2, "other", unsaid, start);
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
}  // namespace wq::node::usage::test

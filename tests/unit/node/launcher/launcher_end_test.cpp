// Tasks that are ended: by time, memory, order, and what they leave behind.
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using engine::model::Ending;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

// Of tasks whose time is over: they have begun by then, and set their traps.
constexpr std::chrono::seconds long_enough{2};

TEST(LauncherEnd, ATimeoutEndsTheWholeTree) {
    Session session;
    session.open();
    process::Order order =
        shell_line(1, "echo begun; (sh -c 'sleep 1000 & sleep 1000') & setsid sleep 1000 & sleep 1000");
    order.timeout = long_enough;
    const TaskEnded end = session.run(order);
    EXPECT_EQ(end.outcome.ending, Ending::timed_out);
    EXPECT_EQ(end.output.out, "begun\n");
    EXPECT_GE(end.outcome.wall_us, 2'000'000);
}

TEST(LauncherEnd, ATimedOutTaskMayTidyUp) {
    Session session;
    session.open();
    process::Order order = shell_line(1, "trap 'echo tidied; exit 5' TERM; while :; do sleep 0.05; done");
    order.timeout = long_enough;
    const TaskEnded end = session.run(order);
    EXPECT_EQ(end.outcome.ending, Ending::timed_out);
    EXPECT_EQ(end.outcome.exit_code, 5);
    EXPECT_THAT(end.output.out, EndsWith("tidied\n"));
}

// A shell that waits for a command acts on its signal when the command has ended: so the command is told as
// well.
TEST(LauncherEnd, EveryProcessOfATimedOutTaskMayTidyUp) {
    Session session;
    session.open();
    const std::string child = "setsid sh -c \"trap 'echo child; exit' TERM; while :; do sleep 0.01; done\"";
    // ":" at the end, because newer shells replace themselves by a last command, and lose their traps.
    process::Order order = shell_line(1, "trap 'echo parent; exit 3' TERM; " + child + "; :");
    order.timeout = long_enough;
    const TaskEnded end = session.run(order);
    EXPECT_EQ(end.outcome.ending, Ending::timed_out);
    EXPECT_EQ(end.outcome.exit_code, 3);
    EXPECT_EQ(end.output.out, "child\nparent\n");
}

TEST(LauncherEnd, ATimedOutTaskThatWillNotGoIsKilled) {
    Session session;
    session.open();
    process::Order order = shell_line(1, "trap '' TERM; while :; do sleep 0.05; done");
    order.timeout = long_enough;
    const TaskEnded end = session.run(order);
    EXPECT_EQ(end.outcome.ending, Ending::timed_out);
    EXPECT_EQ(end.outcome.signal, SIGKILL);
}

TEST(LauncherEnd, WhatStaysBehindIsKilledWithTheMainProcess) {
    Session session;
    session.open();
    const std::vector<std::string> ways{
        "sleep 1000 & echo x",                  // holds the pipes
        "sleep 1000 >/dev/null 2>&1 & echo x",  // does not
        "setsid sleep 1000 & echo x",           // left the session
        "setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 & echo x",
        "(setsid setsid sleep 1000 >/dev/null 2>&1 &); echo x",  // an orphan at once
    };
    for (std::uint64_t task = 0; task < 50; ++task)
        session.launcher->run(shell_line(task, ways[task % ways.size()]));
    session.collect_ends(50);
    for (const auto& [task, end] : session.ended) EXPECT_EQ(end.output.out, "x\n") << task;
    // Where the kernel keeps no list of children an orphan that has left its session and its pipes may
    // outlive its task by a moment; it is gone when the session closes, which its destructor checks.
}

TEST(LauncherEnd, WhatLeftTheSessionGoesAlthoughNoOtherTaskEnds) {
    Session session;
    session.open();
    const std::string pid_file = session.folder / "pid";
    session.run(shell_line(1, "(setsid sh -c 'echo $$ >" + pid_file +
                                  "; exec sleep 1000' >/dev/null 2>&1 &); until [ -s " + pid_file +
                                  " ]; do :; done"));
    const pid_t orphan = std::stoi(read_file(pid_file));
    const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, orphan, 0)));
    if (process.get() < 0) return;  // it is gone already
    pollfd ended{process.get(), POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, patience_ms), 1);
}

TEST(LauncherEnd, AnOrphanWithoutAnEnvironmentGoesWhenNoTaskCanOwnIt) {
    Session session;
    session.open();
    const std::string pid_file = session.folder / "pid";
    session.run(shell_line(1, "(env -i setsid sh -c 'echo $$ >" + pid_file +
                                  "; exec sleep 1000' >/dev/null 2>&1 &); "
                                  "until [ -s " +
                                  pid_file + " ]; do :; done"));
    const pid_t orphan = std::stoi(read_file(pid_file));
    session.launcher->close(std::chrono::seconds(30));
    EXPECT_EQ(kill(orphan, 0), -1);
}

TEST(LauncherEnd, AnOrphanOfARunningTaskIsLeftAlone) {
    Session session(2);
    session.open();
    ASSERT_EQ(mkfifo((session.folder / "end").c_str(), 0600), 0);
    ASSERT_EQ(mkfifo((session.folder / "ask").c_str(), 0600), 0);
    // Task 1 has a daemon that answers at its end; meanwhile others end, each of which has orphans looked
    // for.
    session.launcher->run(shell_line(
        1,
        "(setsid sh -c 'read x <ask; echo alive >answer' >/dev/null 2>&1 &); read x <end; echo >ask; "
        "until [ -s answer ]; do :; done; cat answer"));
    for (std::uint64_t task = 2; task < 40; ++task)
        session.launcher->run(shell_line(task, "setsid sleep 1000 & true"));
    session.collect_ends(38);
    session.launcher->run(shell_line(99, "echo >end"));
    session.collect_ends(40);
    EXPECT_EQ(session.ended[1].output.out, "alive\n");
}

TEST(LauncherEnd, OutputBeyondTheLimitIsCountedAndMarked) {
    Session session;
    session.options.output_limit = 1000;
    session.open();
    const TaskEnded end =
        session.run(shell_line(1, "head -c 300000000 /dev/zero | tr '\\0' x; echo end >&2"));
    EXPECT_TRUE(end.outcome.succeeded());
    EXPECT_EQ(end.outcome.stdout_bytes, 300000000U);
    EXPECT_EQ(end.output.out,
              std::string(1000, 'x') +
                  "\n[work_queue: 299999000 more bytes of stdout not kept; the limit is 1000 bytes]\n");
    EXPECT_EQ(end.output.err, "end\n");
    EXPECT_EQ(session.run(shell_line(2, "head -c 1000 /dev/zero | tr '\\0' x")).output.out,
              std::string(1000, 'x'));
}

TEST(LauncherEnd, ATaskThatClosesItsOutputIsStillWaitedFor) {
    Session session;
    session.open();
    const TaskEnded end = session.run(shell_line(1, "exec >&- 2>&-; sleep 0.1; exit 4"));
    EXPECT_EQ(end.outcome.exit_code, 4);
}

TEST(LauncherEnd, MoreMemoryThanItsLimitEndsATask) {
    Session session;
    session.open();
    process::Order order = shell_line(1, "x=$(head -c 80000000 /dev/zero | tr '\\0' y); sleep 1000");
    order.watch.limits.memory_mb = 50;
    const TaskEnded end = session.run(order);
    EXPECT_EQ(end.outcome.ending, Ending::out_of_memory);
    EXPECT_THAT(end.outcome.reason, HasSubstr("its limit is 50 MB"));
    process::Order small = shell_line(2, "sleep 0.3; echo fine");
    small.watch.limits.memory_mb = 50;
    EXPECT_EQ(session.run(small).output.out, "fine\n");
}

TEST(LauncherEnd, KillEndsARunningTaskAndReturnsAWaitingOne) {
    Session session(1);
    session.open();
    session.launcher->run(shell_line(1, "sleep 1000 & sleep 1000"));
    session.launcher->run(shell_line(2, "echo never"));
    session.launcher->run(shell_line(3, "echo last"));
    session.collect_until([&] { return !session.started.empty(); });
    session.launcher->kill(TaskId(2), 1);
    session.launcher->kill(TaskId(1), 1);
    session.launcher->kill(TaskId(1), 2);  // no such attempt
    session.collect_ends(2);
    EXPECT_EQ(session.ended[1].outcome.ending, Ending::killed);
    EXPECT_THAT(session.returned, testing::ElementsAre(2));
    EXPECT_EQ(session.ended[3].output.out, "last\n");
}

TEST(LauncherEnd, KillAllLeavesNothing) {
    Session session(2);
    session.open();
    for (std::uint64_t task = 0; task < 6; ++task)
        session.launcher->run(shell_line(task, "sleep 1000 & sleep 1000"));
    session.collect_until([&] { return session.started.size() == 2; });
    session.launcher->kill_all();
    session.collect_until([&] { return session.ended.size() + session.returned.size() == 6; });
    EXPECT_EQ(session.ended.size(), 2U);
    for (const auto& [task, end] : session.ended) EXPECT_EQ(end.outcome.ending, Ending::killed);
    EXPECT_TRUE(session.run(shell_line(10, "true")).outcome.succeeded());
}

TEST(LauncherEnd, CloseKillsWhatRuns) {
    Session session(2);
    session.open();
    const std::string up = session.folder / "up";
    ASSERT_EQ(mkfifo(up.c_str(), 0600), 0);
    session.launcher->run(shell_line(1, "setsid sleep 1000 & echo up > '" + up + "'; sleep 1000"));
    session.collect_until([&] { return !session.started.empty(); });
    std::string word;
    std::ifstream(up) >> word;  // a process that is just being executed has no environment to be found by
    EXPECT_FALSE(processes_with(session.mark).empty());
    session.launcher->close(std::chrono::seconds(30));
    EXPECT_THAT(processes_with(session.mark), IsEmpty());
}

}  // namespace
}  // namespace wq::node::launcher::test

// Tasks that are watched: what is measured of them, and how they are held to their limits.
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/descriptor.h"
#include "node/usage/socket_meter.h"
#include "node/usage/task_groups.h"
#include "node/usage/tree_sample.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using engine::model::Ending;
using engine::model::unsaid;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t watch_mega = 1 << 20;

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void burn(double seconds) {
    for (const double end = cpu_seconds() + seconds; cpu_seconds() < end;) {
    }
}

std::vector<char> hold(std::int64_t bytes) {
    std::vector<char> memory(static_cast<std::size_t>(bytes));
    for (std::size_t at = 0; at < memory.size(); at += 1000) memory[at] = 1;
    return memory;
}

// Over TCP, of this process with itself.
struct Connection {
    Connection() {
        const Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        const bool listens = bind(listener.get(), any, size) == 0 && listen(listener.get(), 1) == 0 &&
                             getsockname(listener.get(), any, &size) == 0;
        client.reset(socket(AF_INET, SOCK_STREAM, 0));
        if (!listens || connect(client.get(), any, size) != 0) _exit(1);
        server.reset(accept(listener.get(), nullptr, nullptr));
    }
    Descriptor client;
    Descriptor server;
};

process::FunctionTable call_table_of_watch() {
    process::FunctionTable functions;
    const auto add = [&](const char* name, std::function<void()> call) {
        functions.add(name, {[call](std::string_view) {
                                 call();
                                 return std::string();
                             },
                             nullptr});
    };
    add("mixed", [] {
        std::ofstream(std::string(std::getenv("TMPDIR")) + "/written") << std::string(5 * watch_mega, 'x');
        const auto memory = hold(60 * watch_mega);
        std::vector<pid_t> children;
        for (int i = 0; i < 3; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                for (;;) pause();
            }
            children.push_back(child);
        }
        burn(1.5);
        for (const pid_t child : children) kill(child, SIGKILL);
        for (const pid_t child : children) waitpid(child, nullptr, 0);
    });
    add("grow", [] {
        const auto memory = hold(1024 * watch_mega);
        for (;;) pause();
    });
    // Not even its parent does.
    add("ignore", [] {
        signal(SIGCHLD, SIG_IGN);
        int ends[2];
        if (pipe(ends) != 0) _exit(1);
        if (fork() == 0) {
            burn(1.0);
            _exit(0);
        }
        close(ends[1]);
        char byte = 0;
        if (read(ends[0], &byte, 1) < 0) _exit(1);
        burn(1.5);
    });
    add("talk", [] {
        const Connection connection;
        const std::string text(1 << 20, 'x');
        std::string got(1 << 20, 0);
        for (int i = 0; i < 5; ++i) {
            if (fork() == 0) _exit(write(connection.client.get(), text.data(), text.size()) < 0 ? 1 : 0);
            for (std::size_t at = 0; at < got.size();) {
                const ssize_t part = read(connection.server.get(), got.data(), got.size());
                if (part <= 0) _exit(1);
                at += static_cast<std::size_t>(part);
            }
            wait(nullptr);
        }
        burn(2.0);
    });
    add("spin", [] { burn(1e6); });
    // One that shares all it has with its children.
    add("share", [] {
        const auto memory = hold(200 * watch_mega);
        int burned[2];
        int gate[2];
        if (pipe(burned) != 0 || pipe(gate) != 0) _exit(1);
        char byte = 0;
        for (int i = 0; i < 8; ++i)
            if (fork() == 0) {
                burn(0.3);
                close(gate[1]);
                // None ends before the last has burned its time: so some look finds them all.
                _exit(write(burned[1], &byte, 1) == 1 && read(gate[0], &byte, 1) == 0 ? 0 : 1);
            }
        for (int i = 0; i < 8; ++i)
            if (read(burned[0], &byte, 1) != 1) _exit(1);
        close(gate[1]);
        while (wait(nullptr) > 0) {
        }
    });
    // Nobody waits for the one that works.
    add("daemon", [] {
        int ends[2];
        if (pipe(ends) != 0) _exit(1);
        const pid_t between = fork();
        if (between == 0) {
            if (fork() == 0) {
                close(ends[0]);
                burn(1.0);
                _exit(0);
            }
            _exit(0);
        }
        waitpid(between, nullptr, 0);
        close(ends[1]);
        char byte = 0;
        if (read(ends[0], &byte, 1) < 0) _exit(1);  // until it ends
    });
    return functions;
}

process::Order call_of(std::uint64_t task, const char* function) {
    process::Order order = shell_line(task, "");
    order.call = process::Call{function, ""};
    order.watch.measures = true;
    return order;
}

process::Order watched(process::Order order) {
    order.watch.measures = true;
    return order;
}

void wait_for_end(pid_t pid) {
    const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!process.valid()) return;  // long gone
    pollfd ended{process.get(), POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, patience_ms), 1);
}

TEST(LauncherWatch, WhatATaskTakesIsMeasured) {
    const process::FunctionTable functions = call_table_of_watch();
    Session session(2, &functions);
    session.open();
    const TaskEnded end = session.run(call_of(1, "mixed"));
    ASSERT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
    ASSERT_TRUE(end.outcome.measured);
    EXPECT_EQ(end.outcome.measured->exceeded, engine::model::Sizes{});
    EXPECT_GE(end.outcome.measured->disk_wait, 0);
    EXPECT_LE(end.outcome.measured->disk_wait, 1000);
    const engine::model::Usage& usage = end.outcome.measured->usage;
    EXPECT_GE(usage.cpu_time, 1500000);
    EXPECT_LT(usage.cpu_time, 10000000);
    EXPECT_GE(usage.cores, 10);
    EXPECT_LE(usage.cores, 1500);
    EXPECT_GE(usage.memory, 60);
    EXPECT_GE(usage.virtual_memory, 60);
    EXPECT_GE(usage.disk, 5);
    EXPECT_LE(usage.disk, 8);
    EXPECT_EQ(usage.files, 1);
    EXPECT_GE(usage.bytes_written, 5 * watch_mega);
    EXPECT_LT(usage.bytes_written, 7 * watch_mega);
    EXPECT_GE(usage.bytes_read, 0);
    EXPECT_EQ(usage.processes_at_once, 4);
    EXPECT_EQ(usage.processes, 4);
    EXPECT_GE(usage.context_switches, 1);
    EXPECT_GE(usage.swap_memory, 0);
    EXPECT_LE(usage.bytes_sent, 0);  // unsaid, where the kernel does not tell
}

TEST(LauncherWatch, WhatProcessesShareCountsOnce) {
    const process::FunctionTable functions = call_table_of_watch();
    Session session(2, &functions);
    session.open();
    process::Order order = call_of(1, "share");
    order.watch.limits.memory_mb = 1500;  // ThreadSanitizer takes four times as much besides, once too
    const TaskEnded end = session.run(order);
    ASSERT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
    EXPECT_GE(end.outcome.measured->usage.memory, 200);
    EXPECT_LE(end.outcome.measured->usage.memory, 1500);
    EXPECT_EQ(end.outcome.measured->usage.processes_at_once, 9);
    EXPECT_GE(end.outcome.measured->usage.cpu_time, 2400000);
}

TEST(LauncherWatch, TheTimeOfADaemonCounts) {
    const process::FunctionTable functions = call_table_of_watch();
    Session session(2, &functions);
    session.open();
    const TaskEnded end = session.run(call_of(1, "daemon"));
    ASSERT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
    EXPECT_LT(end.outcome.user_us + end.outcome.system_us, 800000);
    EXPECT_GE(end.outcome.measured->usage.cpu_time, 900000);
    EXPECT_LT(end.outcome.measured->usage.cpu_time, 1900000);
}

TEST(LauncherWatch, TheTimeOfAChildThatNobodyWaitsForCounts) {
    const process::FunctionTable functions = call_table_of_watch();
    Session session(2, &functions);
    session.open();
    const TaskEnded end = session.run(call_of(1, "ignore"));
    ASSERT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
    EXPECT_GE(end.outcome.measured->usage.cpu_time, 1650000);  // as it was seen last
    EXPECT_LT(end.outcome.measured->usage.cpu_time, 2900000);
}

TEST(LauncherWatch, WhatGoesOverItsConnectionsIsMeasured) {
    if (!usage::SocketMeter().measure()) GTEST_SKIP() << "the kernel does not tell";
#if defined(WQ_SANITIZED_ADDRESS) || defined(WQ_SANITIZED_THREAD)
    // It rests for 500 times what a look costs: 2.5 s and more then, which is longer than the task.
    GTEST_SKIP() << "connections are looked at too seldom under sanitizers";
#endif
    const process::FunctionTable functions = call_table_of_watch();
    Session session(2, &functions);
    session.open();
    const TaskEnded end = session.run(call_of(1, "talk"));
    ASSERT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
    const engine::model::Usage& usage = end.outcome.measured->usage;
    EXPECT_GE(usage.bytes_sent, 5 * watch_mega);
    EXPECT_LT(usage.bytes_sent, 6 * watch_mega);
    EXPECT_GE(usage.bytes_received, 5 * watch_mega);
    EXPECT_LT(usage.bytes_received, 6 * watch_mega);
    EXPECT_GT(usage.bandwidth, watch_mega / 10);
    EXPECT_LE(usage.bandwidth, 11 * watch_mega);
}

bool bytes_of_the_ended_are_told() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
    const bool told = usage::ProcessTreeReader().one(child)->bytes_told;
    waitpid(child, nullptr, 0);
    return told;
}

TEST(LauncherWatch, OfAShortTaskItIsSaidWhatItsEndTells) {
    Session session;
    session.open();
    const TaskEnded end = session.run(watched(shell_line(1, "head -c 3000000 /dev/zero | wc -c >$TMPDIR/x")));
    ASSERT_TRUE(end.outcome.measured);
    const engine::model::Usage& usage = end.outcome.measured->usage;
    EXPECT_GE(usage.cpu_time, end.outcome.user_us + end.outcome.system_us);
    EXPECT_GE(usage.memory, 1);
    EXPECT_GE(usage.processes, 1);
    EXPECT_EQ(usage.files, 1);
    if (bytes_of_the_ended_are_told()) {
        EXPECT_GE(usage.bytes_read, 6000000);  // of the children that it waited for, too
        EXPECT_GE(usage.bytes_written, 3000000);
    } else {
        EXPECT_EQ(usage.bytes_read, engine::model::unsaid);
        EXPECT_EQ(usage.bytes_written, engine::model::unsaid);
    }
}

// The meter never comes to it; without its disk its category would give whole workers for ever.
TEST(LauncherWatch, OfAShortTaskWithManyFilesTheDiskIsMeasuredToo) {
    Session session;
    session.open();
    TaskEnded end;
    std::uint64_t id = 0;
    do {  // one that takes longer, on a busy machine, is met by the meter
        end = session.run(watched(shell_line(++id, "cd $TMPDIR && seq 300 | xargs touch")));
        ASSERT_TRUE(end.outcome.succeeded()) << end.output.err;
    } while (end.outcome.wall_us >= 1'000'000);
    ASSERT_TRUE(end.outcome.measured);
    EXPECT_EQ(end.outcome.measured->usage.files, 300);
    EXPECT_GE(end.outcome.measured->usage.disk, 0);
}

TEST(LauncherWatch, TasksBelowEnvironmentLinesAreMeasuredToo) {
    Session session;
    session.options.environment_lines = true;
    session.open();
    session.launcher->environment({1, "hold() { x=$(head -c $1 /dev/zero | tr '\\0' y); }"});
    process::Order small = watched(shell_line(1, "hold 20000000; sleep 1.5"));
    process::Order large = watched(shell_line(2, "hold 300000000; sleep 1000"));
    small.environment_position = large.environment_position = 1;
    large.watch.limits.memory_mb = 100;
    const TaskEnded end = session.run(small);
    ASSERT_TRUE(end.outcome.succeeded()) << end.output.err;
    EXPECT_GE(end.outcome.measured->usage.memory, 20);
    EXPECT_GE(end.outcome.measured->usage.cpu_time, 1);
    EXPECT_EQ(session.run(large).outcome.ending, Ending::out_of_memory);
    EXPECT_TRUE(session.run(shell_line(3, "true")).outcome.succeeded());
}

TEST(LauncherWatch, OthersAreNotMeasured) {
    Session session;
    session.open();
    EXPECT_FALSE(session.run(shell_line(1, "read x </dev/null; sleep 0.3")).outcome.measured);
    process::Order limited = shell_line(2, "sleep 0.3");
    limited.watch.limits = {1000, 500, 500, unsaid};
    const TaskEnded end = session.run(limited);
    EXPECT_TRUE(end.outcome.succeeded());
    EXPECT_FALSE(end.outcome.measured);
    EXPECT_FALSE(session.run(watched(shell_line(3, "nothing-of-this-name"))).outcome.succeeded());
    EXPECT_FALSE(session.run(watched(words(4, {"/no/such/file"}))).outcome.measured);
}

// Where the group is of which `membership` (of version 2) tells.
std::string group_folder(const std::string& membership) {
    const std::size_t at = membership.find("/work_queue.");
    if (at == std::string::npos) return "";
    return machine::group_rights().folder + membership.substr(at, membership.find('\n', at) - at);
}

TEST(LauncherWatch, ATaskThatIsWatchedHasAControlGroupOfItsOwn) {
    if (machine::group_rights().folder.empty())
        GTEST_SKIP() << "no groups can be made here: " << machine::group_rights().why;
    Session session;
    session.open();
    const std::string first =
        group_folder(session.run(watched(shell_line(1, "cat /proc/self/cgroup"))).output.out);
    const std::string second =
        group_folder(session.run(watched(words(2, {"cat", "/proc/self/cgroup"}))).output.out);
    const std::string none = group_folder(session.run(shell_line(3, "cat /proc/self/cgroup")).output.out);
    EXPECT_THAT(first, HasSubstr("/task."));
    EXPECT_THAT(second, HasSubstr("/task."));
    EXPECT_NE(first, second);
    EXPECT_EQ(none, "");
    EXPECT_FALSE(std::filesystem::exists(first));
    session.launcher->close(std::chrono::seconds(30));
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(second).parent_path()));
}

TEST(LauncherWatch, TheGroupsOfAKilledLauncherAreRemoved) {
    if (machine::group_rights().folder.empty())
        GTEST_SKIP() << "no groups can be made here: " << machine::group_rights().why;
    Session session;
    session.open();
    const std::string file = session.folder / "group";
    session.launcher->run(
        watched(shell_line(1, "cat /proc/self/cgroup >" + file + "; kill -9 $PPID; sleep 1000")));
    session.collect_until([&] { return session.died.has_value(); });
    const std::string group = group_folder(read_file(file));
    EXPECT_THAT(group, HasSubstr("/task."));
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(group).parent_path()));
}

TEST(LauncherWatch, AGigabyteUnderALimitOf200MBEndsThatTaskAlone) {
    const process::FunctionTable functions = call_table_of_watch();
    Session session(3, &functions);
    session.open();
    ASSERT_EQ(mkfifo((session.folder / "go").c_str(), 0600), 0);
    session.launcher->run(shell_line(1, "read x <go; echo still here"));
    process::Order call = call_of(2, "grow");
    process::Order command = shell_line(3, "x=$(head -c 1000000000 /dev/zero | tr '\\0' y); sleep 1000");
    for (process::Order* order : {&call, &command}) {
        order->watch.limits.memory_mb = 200;
        session.launcher->run(*order);
    }
    session.collect_ends(2);
    for (const std::uint64_t task : {2U, 3U}) {
        const engine::model::Outcome& outcome = session.ended[task].outcome;
        EXPECT_EQ(outcome.ending, Ending::out_of_memory);
        EXPECT_THAT(outcome.reason, HasSubstr("MB of memory, its limit is 200 MB"));
        ASSERT_TRUE(outcome.measured);
        EXPECT_EQ(outcome.measured->exceeded, (engine::model::Sizes{unsaid, 200, unsaid, unsaid}));
        EXPECT_GT(outcome.measured->usage.memory, 200);
    }
    session.launcher->run(shell_line(4, "echo >go"));
    session.collect_ends(4);
    EXPECT_FALSE(session.died);
    EXPECT_EQ(session.ended[1].output.out, "still here\n");
}

TEST(LauncherWatch, TheKernelIsToEndATaskBeforeItsLauncherAndThatBeforeItsWorker) {
    Session session(1);
    session.open();
    const std::string go = session.folder / "go";
    ASSERT_EQ(mkfifo(go.c_str(), 0600), 0);
    session.launcher->run(
        shell_line(1, "read x <go; cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj"));
    session.collect_until([&] { return !session.started.empty(); });
    std::ofstream(go) << "now\n";
    session.collect_ends(1);
    std::istringstream scores(session.ended[1].output.out);
    int task = 0;
    int launcher = 0;
    scores >> task >> launcher;
    EXPECT_GT(task, std::min(launcher, 999));
    EXPECT_GE(launcher, std::stoi(read_file("/proc/self/oom_score_adj")));
}

TEST(LauncherWatch, ADaemonCountsAndGoesWithItsTask) {
    Session session;
    session.open();
    const std::string pid_file = session.folder / "pid";
    process::Order order =
        watched(shell_line(1, "(setsid sh -c 'echo $$ >" + pid_file +
                                  "; x=$(head -c 300000000 /dev/zero | tr \"\\0\" y); sleep 1000' "
                                  ">/dev/null 2>&1 &); sleep 1000"));
    order.watch.limits.memory_mb = 200;
    const TaskEnded end = session.run(order);
    EXPECT_EQ(end.outcome.ending, Ending::out_of_memory);
    ASSERT_TRUE(end.outcome.measured);
    EXPECT_GT(end.outcome.measured->usage.memory, 200);
    wait_for_end(std::stoi(read_file(pid_file)));
}

TEST(LauncherWatch, ATaskThatFillsItsDiskIsEnded) {
    Session session;
    session.open();
    const std::string sandbox = session.folder / "sandbox";
    ASSERT_EQ(mkdir(sandbox.c_str(), 0700), 0);
    const std::string fills = "for i in 1 2 3 4 5; do head -c 7000000 /dev/zero >";
    process::Order temporary = watched(shell_line(1, fills + "$TMPDIR/$i; done; sleep 1000"));
    process::Order in_sandbox =
        shell_line(2, fills + "$i; done; sleep 1000");  // a list's: only held to its limit
    in_sandbox.directory = sandbox;
    for (process::Order* order : {&temporary, &in_sandbox}) {
        order->watch.limits.disk_mb = 20;
        session.launcher->run(*order);
    }
    session.collect_ends(2);
    for (const std::uint64_t task : {1U, 2U}) {
        const engine::model::Outcome& outcome = session.ended[task].outcome;
        EXPECT_EQ(outcome.ending, Ending::exhausted);
        EXPECT_THAT(outcome.reason, HasSubstr("MB of disk, its limit is 20 MB"));
        ASSERT_TRUE(outcome.measured);
        EXPECT_EQ(outcome.measured->exceeded, (engine::model::Sizes{unsaid, unsaid, 20, unsaid}));
        EXPECT_GT(outcome.measured->usage.disk, 20);
    }
}

TEST(LauncherWatch, MoreCoresThanItsLimitEndATask) {
    const process::FunctionTable functions = call_table_of_watch();
    Session session(2, &functions);
    session.open();
    process::Order order = call_of(1, "spin");
    order.watch.limits.cores = 100;  // so few that a busy machine has them to give
    const TaskEnded end = session.run(order);
    EXPECT_EQ(end.outcome.ending, Ending::exhausted);
    EXPECT_THAT(end.outcome.reason, HasSubstr("cores busy, its limit is 0.1"));
    EXPECT_EQ(end.outcome.measured->exceeded.cores, 100);
    EXPECT_GT(end.outcome.measured->usage.cores, 100);
}

TEST(LauncherWatch, ATaskThatIgnoresSigtermIsKilledWithAllOfIt) {
    Session session;
    session.open();
    const std::string pid_file = session.folder / "pid";
    process::Order order = watched(shell_line(1, "trap '' TERM; (setsid sh -c 'echo $$ >" + pid_file +
                                                     "; while :; do sleep 0.1; done' >/dev/null 2>&1 &); "
                                                     "while :; do sleep 0.1; done"));
    order.timeout = std::chrono::seconds(2);  // by then all of it has begun
    const TaskEnded end = session.run(order);
    EXPECT_EQ(end.outcome.ending, Ending::timed_out);
    EXPECT_EQ(end.outcome.signal, SIGKILL);
    ASSERT_TRUE(end.outcome.measured);
    EXPECT_EQ(end.outcome.measured->exceeded, engine::model::Sizes{});
    EXPECT_GE(end.outcome.measured->usage.processes, 2);
    wait_for_end(std::stoi(read_file(pid_file)));
}

}  // namespace
}  // namespace wq::node::launcher::test

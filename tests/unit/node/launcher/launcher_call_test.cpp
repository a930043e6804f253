// Calls in forked children: what comes back, however they end.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <stdexcept>
#include <thread>

#include "node/launcher/task_starter.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using engine::model::Ending;
using testing::HasSubstr;

process::FunctionTable table() {
    process::FunctionTable functions;
    const auto add = [&](const char* name, std::function<std::string(std::string_view)> call) {
        functions.add(name, {std::move(call), nullptr});
    };
    add("echo", [](std::string_view arguments) { return std::string(arguments); });
    add("throw", [](std::string_view arguments) -> std::string {
        throw std::runtime_error("no " + std::string(arguments));
    });
    add("abort", [](std::string_view) -> std::string {
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::abort();
    });
    add("exit",
        [](std::string_view arguments) -> std::string { _exit(std::atoi(std::string(arguments).c_str())); });
    add("wait", [](std::string_view) -> std::string {
        for (;;) pause();
    });
    add("print", [](std::string_view arguments) -> std::string {
        std::printf("printf %s, ", std::string(arguments).c_str());
        std::cout << "cout";
        std::cerr << "cerr";
        return "";
    });
    add("large", [](std::string_view arguments) {
        std::string bytes(std::stoull(std::string(arguments)), '\0');
        for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<char>(at * 7 >> 3);
        return bytes;
    });
    add("hold", [](std::string_view arguments) -> std::string {
        std::vector<char> memory(std::stoull(std::string(arguments)));
        for (std::size_t at = 0; at < memory.size(); at += 1000) memory[at] = 1;
        for (;;) pause();
    });
    add("variable", [](std::string_view arguments) -> std::string {
        const char* const value = std::getenv(std::string(arguments).c_str());
        return value == nullptr ? "not set" : value;
    });
    add("where", [](std::string_view) { return std::filesystem::current_path().string(); });
    add("leave", [](std::string_view) -> std::string {  // a child that would go on for ever
        const pid_t pid = fork();
        if (pid == 0)
            for (;;) pause();
        return std::to_string(pid);
    });
    add("descriptors", [](std::string_view) {
        std::string open;
        for (int fd = 0; fd < 1000; ++fd)
            if (fcntl(fd, F_GETFD) >= 0) open += std::to_string(fd) + " ";
        return open;
    });
    add("threads", [](std::string_view) -> std::string {
        int sum = 0;
        std::thread([&] { sum = 42; }).join();
        return std::to_string(sum);
    });
    add("masked", [](std::string_view) {
        sigset_t mask;
        sigprocmask(SIG_BLOCK, nullptr, &mask);
        return std::to_string(sigismember(&mask, SIGTERM)) + std::to_string(sigismember(&mask, SIGCHLD));
    });
    return functions;
}

process::Order call(std::uint64_t task, std::string function, std::string arguments = "") {
    process::Order order;
    order.task = TaskId(task);
    order.give.cores = 1;
    order.call = process::Call{std::move(function), std::move(arguments)};
    return order;
}

class LauncherCall : public ::testing::Test {
  protected:
    LauncherCall() { session.open(); }
    process::FunctionTable functions = table();
    Session session{2, &functions};
};

TEST_F(LauncherCall, GivesWhatTheFunctionReturns) {
    const std::string bytes("any\0thing\xff", 10);
    const TaskEnded end = session.run(call(1, "echo", bytes));
    EXPECT_TRUE(end.outcome.succeeded());
    EXPECT_EQ(end.output.result, bytes);
    EXPECT_GT(end.outcome.started_us, 0);
    EXPECT_GT(end.outcome.peak_memory_kb, 0);
    EXPECT_EQ(session.run(call(2, "echo")).output.result, "");
    EXPECT_TRUE(session.run(call(3, "echo")).outcome.succeeded());
}

TEST_F(LauncherCall, ManyAtOnceEachWithItsOwn) {
    for (std::uint64_t task = 0; task < 300; ++task)
        session.launcher->run(task % 3 == 0 ? shell_line(task, "echo " + std::to_string(task))
                                            : call(task, "echo", std::to_string(task)));
    session.collect_ends(300);
    for (std::uint64_t task = 0; task < 300; ++task)
        EXPECT_EQ(task % 3 == 0 ? session.ended[task].output.out : session.ended[task].output.result + "\n",
                  std::to_string(task) + "\n");
}

TEST_F(LauncherCall, WhatIsThrownIsTheReason) {
    const TaskEnded end = session.run(call(1, "throw", "way"));
    EXPECT_EQ(end.outcome.ending, Ending::raised);
    EXPECT_EQ(end.outcome.reason, "no way");
    EXPECT_EQ(end.output.result, "");
}

TEST_F(LauncherCall, ACrashIsItsOwnOnly) {
    const TaskEnded end = session.run(call(1, "abort"));
    EXPECT_EQ(end.outcome.ending, Ending::signalled);
    EXPECT_EQ(end.outcome.signal, SIGABRT);
    EXPECT_EQ(session.run(call(2, "echo", "x")).output.result, "x");
}

TEST_F(LauncherCall, AProcessThatEndsBeforeItsFunctionHasFailed) {
    const TaskEnded three = session.run(call(1, "exit", "3"));
    EXPECT_EQ(three.outcome.ending, Ending::exited);
    EXPECT_EQ(three.outcome.exit_code, 3);
    const TaskEnded zero = session.run(call(2, "exit", "0"));
    EXPECT_FALSE(zero.outcome.succeeded());
    EXPECT_EQ(zero.outcome.ending, Ending::raised);
    EXPECT_THAT(zero.outcome.reason, HasSubstr("before the function returned"));
}

TEST_F(LauncherCall, ANameThatNobodyRegisteredIsNotStarted) {
    const TaskEnded end = session.run(call(1, "ecko"));
    EXPECT_EQ(end.outcome.ending, Ending::not_started);
    EXPECT_EQ(end.outcome.exit_code, 127);
    EXPECT_THAT(end.outcome.reason, HasSubstr("'ecko'; it knows abort, descriptors, echo"));
}

TEST(LauncherCallWithout, ALauncherWithoutFunctionsKnowsNone) {
    Session session;
    session.open();
    const TaskEnded end = session.run(call(1, "echo"));
    EXPECT_EQ(end.outcome.ending, Ending::not_started);
    EXPECT_THAT(end.outcome.reason, HasSubstr("it knows none: calls need workers of your program"));
}

TEST_F(LauncherCall, IsEndedWhenItsTimeIsOver) {
    process::Order order = call(1, "wait");
    order.timeout = std::chrono::milliseconds(50);
    EXPECT_EQ(session.run(order).outcome.ending, Ending::timed_out);
}

TEST(LauncherCallDescriptors, MoreThanTheLimitOfDescriptorsHasRoomForRunAtOnce) {
    const FewDescriptors limit(64);
    constexpr std::size_t cores = 40;
    const process::FunctionTable functions = table();
    Session session(cores, &functions);
    session.open();
    for (std::uint64_t task = 1; task <= cores; ++task) session.launcher->run(call(task, "wait"));
    session.collect_until([&] { return session.started.size() + session.ended.size() >= cores; });
    EXPECT_EQ(session.started.size(), cores);
}

TEST_F(LauncherCall, IsKilledByOrder) {
    session.launcher->run(call(1, "wait"));
    session.collect_until([&] { return !session.started.empty(); });
    session.launcher->kill(TaskId(1), 1);
    session.collect_ends(1);
    EXPECT_EQ(session.ended[1].outcome.ending, Ending::killed);
}

TEST_F(LauncherCall, IsEndedWhenItHoldsTooMuchMemory) {
    process::Order order = call(1, "hold", std::to_string(400u << 20));
    order.watch.limits.memory_mb = 300;
    EXPECT_EQ(session.run(order).outcome.ending, Ending::out_of_memory);
}

TEST_F(LauncherCall, WhatItPrintsIsKept) {
    const TaskEnded end = session.run(call(1, "print", "x"));
    EXPECT_EQ(end.output.out, "printf x, cout");
    EXPECT_EQ(end.output.err, "cerr");
    EXPECT_EQ(end.outcome.stdout_bytes, 14);
}

TEST_F(LauncherCall, AHundredMillionBytesComeBackAsTheyWere) {
    constexpr std::size_t size = 100'000'000;
    const TaskEnded end = session.run(call(1, "large", std::to_string(size)));
    ASSERT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
    ASSERT_EQ(end.output.result.size(), size);
    for (std::size_t at = 0; at < size; at += 997)
        ASSERT_EQ(end.output.result[at], static_cast<char>(at * 7 >> 3)) << at;
    // And so do arguments.
    const TaskEnded back = session.run(call(2, "echo", end.output.result));
    EXPECT_TRUE(back.output.result == end.output.result);
}

TEST_F(LauncherCall, HasTheEnvironmentOfATask) {
    session.launcher->close(std::chrono::seconds(30));
    Session other(2, &functions);
    other.options.environment.emplace_back("WQ_OF_ALL", "here");
    other.open();
    EXPECT_EQ(other.run(call(1, "variable", "WQ_OF_ALL")).output.result, "here");
    EXPECT_EQ(other.run(call(2, "variable", "OMP_NUM_THREADS")).output.result, "1");
    process::Order order = call(3, "variable", "MINE");
    order.variables.emplace_back("MINE", "yes");
    EXPECT_EQ(other.run(order).output.result, "yes");
    EXPECT_THAT(other.run(call(4, "variable", "TMPDIR")).output.result, HasSubstr("scratch"));
}

TEST_F(LauncherCall, MayBeginInAFolderOfItsOwn) {
    process::Order order = call(1, "where", "");
    order.directory = session.folder / "scratch";
    EXPECT_EQ(session.run(order).output.result, session.folder / "scratch");
    order = call(2, "where", "");
    order.directory = session.folder / "nowhere";
    const engine::model::Outcome outcome = session.run(order).outcome;
    EXPECT_EQ(outcome.ending, engine::model::Ending::not_started);
    EXPECT_EQ(outcome.exit_code, 126);
    EXPECT_EQ(outcome.started_us, 0);
}

TEST_F(LauncherCall, MayBeginInItsTemporaryFolder) {
    process::Order where = call(1, "where", "");
    where.own_folder = true;
    const std::string folder = session.run(where).output.result;
    process::Order temporary = call(2, "variable", "TMPDIR");
    EXPECT_EQ(session.run(temporary).output.result, folder);
    process::Order sandbox = call(3, "variable", "WORK_QUEUE_SANDBOX");
    sandbox.own_folder = true;
    EXPECT_EQ(session.run(sandbox).output.result, folder);
}

TEST_F(LauncherCall, WhatItLeavesBehindIsKilled) {
    const TaskEnded end = session.run(call(1, "leave"));
    ASSERT_TRUE(end.outcome.succeeded());
    const pid_t left = std::stoi(end.output.result);
    EXPECT_GT(left, 0);
    session.launcher->close(std::chrono::seconds(30));
    EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(left)));
}

TEST_F(LauncherCall, HasNoDescriptorOfTheLaunchers) {
    EXPECT_EQ(session.run(call(1, "descriptors")).output.result, "0 1 2 3 ");  // 3: where its result goes
}

TEST_F(LauncherCall, MayUseThreadsAndSignals) {
    EXPECT_EQ(session.run(call(1, "threads")).output.result, "42");
    EXPECT_EQ(session.run(call(2, "masked")).output.result, "00");
}

TEST_F(LauncherCall, WhatTheProgramHadPrintedIsNotPrintedAgain) {
    session.launcher->close(std::chrono::seconds(30));
    testing::internal::CaptureStdout();
    std::printf("before the launcher");  // in the buffer of this process
    Session other(2, &functions);
    other.open();
    const TaskEnded end = other.run(call(1, "print", "x"));
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "before the launcher");
    EXPECT_EQ(end.output.out, "printf x, cout");
}

// In a process of its own that may open no more.
TEST(CallStarter, SaysWhatItsResultLacks) {
    const pid_t pid = fork();
    if (pid == 0) {
        char* none = nullptr;
        const process::BaseEnvironment base{&none, {}};
        const process::FunctionTable functions = table();
        Lanes lanes{base, "", ""};
        CallStarter starter{&functions, nullptr};
        Lane& lane = *lanes.acquire();
        lane.order.order.call = process::Call{"echo", "x"};
        const rlimit limit{0, 0};
        setrlimit(RLIMIT_NOFILE, &limit);
        const bool later = starter.start(lane, {}, &none) == TaskStarter::Result::try_later;
        _exit(later && lane.outcome.reason.find("descriptor") != std::string::npos ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace wq::node::launcher::test

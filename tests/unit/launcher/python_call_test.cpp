// Calls of Python functions in processes that a warm interpreter forks: what comes back, however they end.
#include <signal.h>

#include <array>
#include <cstdio>

#include "unit/launcher/launcher_support.h"

namespace wq::launcher::test {
namespace {

using core::Ending;
using testing::HasSubstr;
using testing::StartsWith;

// Of the `python3` in PATH.
const std::string& python_version() {
    static const std::string text = [] {
        std::array<char, 32> line{};
        FILE* const said = popen("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'", "r");
        if (said == nullptr || fgets(line.data(), line.size(), said) == nullptr) return std::string();
        pclose(said);
        return std::string(line.data(), std::string(line.data()).find('\n'));
    }();
    return text;
}

// eval(expression), pickled by hand in protocol 0. The expression has no line ends and no backslashes.
std::string python_arguments(const std::string& expression, const std::string& environment = "") {
    const std::string function = "cbuiltins\neval\n.";
    const std::string given = "((V" + expression + "\np0\ntp1\n(dp2\ntp3\n.";
    return python_version() + "\n\n" + environment + "\n" + std::to_string(function.size()) + " " +
           std::to_string(given.size()) + "\n" + function + given;
}

process::Order evaluation(std::uint64_t task, const std::string& expression) {
    process::Order order;
    order.task = TaskId(task);
    order.give.cores = 1;
    order.call = process::Call{"python", python_arguments(expression)};
    return order;
}

constexpr const char* waits_for_ever = "__import__('signal').pause()";

class PythonCall : public ::testing::Test {
  protected:
    void SetUp() override {
        if (python_version().empty()) GTEST_SKIP() << "SKIP: no python3 in PATH";
        session.open();
    }
    Session session{2};
};

TEST_F(PythonCall, GivesWhatTheFunctionReturns) {
    const TaskEnded end = session.run(evaluation(1, "'answer: %d' % (6 * 7)"));
    EXPECT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
    EXPECT_THAT(end.output.result, StartsWith("R "));
    EXPECT_THAT(end.output.result, HasSubstr("answer: 42"));
    EXPECT_GT(end.outcome.peak_memory_kb, 0);
}

TEST_F(PythonCall, WritesToItsStreams) {
    const TaskEnded end =
        session.run(evaluation(1, "print('said') or __import__('os').system('echo wrong >&2')"));
    EXPECT_EQ(end.output.out, "said\n");
    EXPECT_EQ(end.output.err, "wrong\n");
}

TEST_F(PythonCall, WhatIsRaisedIsAResult) {
    const TaskEnded end = session.run(evaluation(1, "1 / 0"));
    EXPECT_TRUE(end.outcome.succeeded());
    EXPECT_THAT(end.output.result, StartsWith("E "));
    EXPECT_THAT(end.output.result, HasSubstr("ZeroDivisionError"));
}

TEST_F(PythonCall, ManyAtOnceEachWithItsOwn) {
    for (std::uint64_t task = 0; task < 60; ++task)
        session.launcher->run(task % 3 == 0 ? shell_line(task, "echo '<" + std::to_string(task) + ">'")
                                            : evaluation(task, "'<%d>' % " + std::to_string(task)));
    session.collect_ends(60);
    for (std::uint64_t task = 0; task < 60; ++task) {
        const core::Output& output = session.ended[task].output;
        EXPECT_THAT(task % 3 == 0 ? output.out : output.result, HasSubstr("<" + std::to_string(task) + ">"));
    }
}

TEST_F(PythonCall, EndsOfItsProcessAreItsOwnOnly) {
    const TaskEnded aborted = session.run(evaluation(1, "__import__('os').abort()"));
    EXPECT_EQ(aborted.outcome.ending, Ending::signalled);
    EXPECT_EQ(aborted.outcome.signal, SIGABRT);
    EXPECT_EQ(session.run(evaluation(2, "__import__('os')._exit(3)")).outcome.exit_code, 3);
    EXPECT_EQ(session.run(evaluation(3, "__import__('os')._exit(0)")).outcome.ending, Ending::raised);
    EXPECT_TRUE(session.run(evaluation(4, "1")).outcome.succeeded());
}

TEST_F(PythonCall, IsKilledBeforeAndWhileItRuns) {
    for (std::uint64_t task = 1; task <= 6; ++task) {
        session.launcher->run(evaluation(task, waits_for_ever));
        if (task % 2 == 0)
            session.collect_until([&] { return testing::Value(session.started, testing::Contains(task)); });
        session.launcher->kill(TaskId(task), 1);
        session.collect_until([&] {
            return session.ended.contains(task) || testing::Value(session.returned, testing::Contains(task));
        });
        if (session.ended.contains(task)) {
            EXPECT_EQ(session.ended[task].outcome.ending, Ending::killed);
        }
    }
    EXPECT_TRUE(session.run(evaluation(7, "1")).outcome.succeeded());
}

TEST_F(PythonCall, ItsTimeIsLimited) {
    process::Order order = evaluation(1, waits_for_ever);
    order.timeout = std::chrono::seconds(1);
    EXPECT_EQ(session.run(std::move(order)).outcome.ending, Ending::timed_out);
}

// Its process is then ours, and ends as if nothing had happened.
TEST_F(PythonCall, OutlivesTheInterpreterThatForkedIt) {
    for (std::uint64_t task = 1; task <= 5; ++task) {
        const TaskEnded end = session.run(
            evaluation(task, "(__import__('os').kill(__import__('os').getppid(), 9), 'lives')[1]"));
        EXPECT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
        EXPECT_THAT(end.output.result, HasSubstr("lives"));
    }
}

TEST_F(PythonCall, WhatItLeavesBehindIsKilled) {
    const TaskEnded end =
        session.run(evaluation(1, "__import__('os').fork() or __import__('signal').pause()"));
    EXPECT_TRUE(end.outcome.succeeded());
}  // the session looks for processes at its end

TEST_F(PythonCall, EndsWithItsLauncher) {
    session.run(evaluation(1, "1"));
    session.launcher->run(evaluation(2, waits_for_ever));
    session.launcher->run(
        evaluation(3,
                   "__import__('os').kill(int(open('/proc/%d/stat' % __import__('os').getppid()).read()"
                   ".rpartition(')')[2].split()[1]), 9) or __import__('signal').pause()"));
    session.collect_until([&] { return session.died.has_value(); });
    EXPECT_THAT(session.died->why, HasSubstr("signal 9"));
}

TEST_F(PythonCall, ArgumentsThatAreNone) {
    process::Order order = evaluation(1, "1");
    order.call->arguments = "junk";
    const TaskEnded end = session.run(std::move(order));
    EXPECT_EQ(end.outcome.ending, Ending::not_started);
    EXPECT_THAT(end.outcome.reason, HasSubstr("not the arguments"));
}

TEST_F(PythonCall, AnEnvironmentThatIsNotThere) {
    process::Order order = evaluation(1, "1");
    order.call->arguments = python_arguments("1", "env.tar.gz");
    order.directory = session.folder.path();
    const TaskEnded end = session.run(std::move(order));
    EXPECT_EQ(end.outcome.ending, Ending::not_started);
    EXPECT_THAT(end.outcome.reason, HasSubstr("env.tar.gz: No such file"));
}

TEST(PythonCallWithoutPython, SaysSo) {
    Session session(1);
    session.options.environment.emplace_back("PATH", "/nowhere");
    session.open();
    const TaskEnded end = session.run(evaluation(1, "1"));
    EXPECT_EQ(end.outcome.ending, Ending::not_started);
    EXPECT_THAT(end.outcome.reason, HasSubstr("no Python here"));
}

}  // namespace
}  // namespace wq::launcher::test

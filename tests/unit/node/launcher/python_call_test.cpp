// Calls of Python functions in processes that a warm interpreter forks: what comes back, however they end.
#include <signal.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/memory_file.h"
#include "node/calls/python_call.h"
#include "unit/node/launcher/launcher_support.h"
#include "unit/node/launcher/python_orders.h"

namespace wq::node::launcher::test {
namespace {

using engine::model::Ending;
using testing::HasSubstr;
using testing::StartsWith;

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
    EXPECT_EQ(end.outcome.ending, Ending::raised);
    EXPECT_EQ(end.outcome.exit_code, 1);
    EXPECT_EQ(end.outcome.reason, "ZeroDivisionError: division by zero");
    EXPECT_THAT(end.output.result, StartsWith("E "));
    EXPECT_THAT(end.output.result, HasSubstr("ZeroDivisionError"));
}

TEST_F(PythonCall, ManyAtOnceEachWithItsOwn) {
    for (std::uint64_t task = 0; task < 60; ++task)
        session.launcher->run(task % 3 == 0 ? shell_line(task, "echo '<" + std::to_string(task) + ">'")
                                            : evaluation(task, "'<%d>' % " + std::to_string(task)));
    session.collect_ends(60);
    for (std::uint64_t task = 0; task < 60; ++task) {
        const engine::model::Output& output = session.ended[task].output;
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

// Tasks whose calls may share processes.
class DirectPythonCall : public PythonCall {
  protected:
    const TaskEnded& run(const std::string& expression) {
        ended = session.run(evaluation(++task, expression, "direct"));
        return ended;
    }
    std::string pid() { return run("__import__('os').getpid()").output.result; }

    std::uint64_t task = 0;
    TaskEnded ended;
};

TEST_F(DirectPythonCall, RunsWhereAnotherRan) {
    const std::string first = pid();
    EXPECT_THAT(first, StartsWith("R "));
    EXPECT_EQ(pid(), first);
    EXPECT_THAT(run("1 / 0").output.result, HasSubstr("ZeroDivisionError"));
    EXPECT_EQ(pid(), first);
    EXPECT_NE(session.run(evaluation(++task, "__import__('os').getpid()")).output.result, first);
}

TEST_F(DirectPythonCall, HasItsOwnStreamsAndUsage) {
    EXPECT_EQ(run("print('one')").output.out, "one\n");
    const TaskEnded& busy = run("print('two') or sum(range(10000000))");
    EXPECT_EQ(busy.output.out, "two\n");
    const auto used = busy.outcome.user_us;
    EXPECT_GT(used, 10000);
    EXPECT_LT(run("print('three')").outcome.user_us, used);
    EXPECT_EQ(ended.output.out, "three\n");
    EXPECT_GT(ended.outcome.peak_memory_kb, 0);
}

// Not `math`: modules that calls share keep what is changed.
TEST_F(DirectPythonCall, FindsItsSurroundingsAsTheFirstDid) {
    constexpr const char* look =
        "(lambda os, sys: (os.getpid(), os.getcwd(), sorted(os.environ), sorted(sys.path),"
        "sorted(os.sched_getaffinity(0)), os.umask(18), sys.getrecursionlimit(),"
        "sys.stdout.name, __import__('signal').getitimer(0)))"
        "(__import__('os'), __import__('sys'))";
    const std::string before = run(look).output.result;
    EXPECT_THAT(before, StartsWith("R "));
    run("(lambda os, sys: (os.chdir('/'), os.environ.update(MARK='1'), os.environ.pop('PATH'), "
        "sys.path.clear(),"
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]), os.umask(0), sys.setrecursionlimit(5000),"
        "setattr(sys, 'stdout', sys.stderr), __import__('signal').setitimer(0, 1000)))"
        "(__import__('os'), __import__('sys')) and None");
    EXPECT_EQ(run(look).output.result, before);
}

TEST_F(DirectPythonCall, IsTheLastOfAProcessThatCannotBeCleaned) {
    for (const char* const leaves :
         {"__import__('threading').Thread(target=__import__('signal').pause, daemon=True).start()",
          "__import__('os').fork() or __import__('signal').pause()",
          "__import__('signal').signal(15, lambda *_: None) and None",
          "__import__('signal').pthread_sigmask(0, [15]) and None", "__import__('sys').stdout.close()",
          "__import__('os').nice(1)", "__import__('os').dup(1)",
          "__import__('resource').setrlimit(7, (100, 100))",
          "setattr(__import__('os'), 'kept', bytearray(300 << 20))"}) {
        const std::string before = pid();
        EXPECT_TRUE(run(leaves).outcome.succeeded()) << leaves;
        EXPECT_NE(pid(), before) << leaves;
    }
}

// Which tempfile finds once for a process.
TEST_F(DirectPythonCall, HasItsOwnTemporaryFolder) {
    // Processes end when the interpreter has imported what the first call needed: so perhaps not all of these
    // run in one, but soon they do.
    std::string before;
    do {
        before = run("__import__('tempfile').gettempdir() and __import__('os').getpid()").output.result;
        process::Order order = evaluation(++task, "__import__('tempfile').gettempdir()", "direct");
        order.variables.emplace_back("TMPDIR", session.folder.path());
        ASSERT_THAT(session.run(std::move(order)).output.result, HasSubstr(session.folder.path()));
    } while (pid() != before);
}

TEST_F(DirectPythonCall, LastOneInAProcessHasItsOwnUsage) {
    const auto long_one = run("sum(range(10000000))").outcome.user_us;
    EXPECT_GT(long_one, 20000);
    EXPECT_LT(run("__import__('os').nice(1)").outcome.user_us, long_one);
    EXPECT_GT(run("len(bytearray(200 << 20))").outcome.peak_memory_kb, 200 << 10);
    EXPECT_LT(run("1").outcome.peak_memory_kb, 100 << 10);
}

TEST_F(DirectPythonCall, WhatItForksAndReturnsAnswersNothing) {
    const std::string before = pid();
    EXPECT_THAT(
        run("(lambda os: os.fork() and os.wait() and 'parent' or 'child')(__import__('os'))").output.result,
        HasSubstr("parent"));
    EXPECT_EQ(pid(), before);
}

TEST_F(DirectPythonCall, EndsOfItsProcessAreItsOwnOnly) {
    const std::string before = pid();
    EXPECT_EQ(run("__import__('os').abort()").outcome.signal, SIGABRT);
    EXPECT_EQ(run("__import__('os')._exit(3)").outcome.exit_code, 3);
    EXPECT_TRUE(run("1").outcome.succeeded());
    EXPECT_NE(pid(), before);
}

TEST_F(DirectPythonCall, IsKilledAndItsTimeIsLimited) {
    pid();
    session.launcher->run(evaluation(++task, waits_for_ever, "direct"));
    session.collect_until([&] { return testing::Value(session.started, testing::Contains(task)); });
    session.launcher->kill(TaskId(task), 1);
    session.collect_until([&] {
        return session.ended.contains(task) || testing::Value(session.returned, testing::Contains(task));
    });
    EXPECT_TRUE(!session.ended.contains(task) || session.ended[task].outcome.ending == Ending::killed);
    process::Order order = evaluation(++task, waits_for_ever, "direct");
    order.timeout = std::chrono::seconds(1);
    EXPECT_EQ(session.run(std::move(order)).outcome.ending, Ending::timed_out);
    EXPECT_TRUE(run("1").outcome.succeeded());
}

TEST_F(DirectPythonCall, HasItsOwnProcessIfItIsMeasured) {
    const std::string before = pid();
    process::Order order = evaluation(++task, "__import__('os').getpid()", "direct");
    order.watch.measures = true;
    EXPECT_NE(session.run(std::move(order)).output.result, before);
    EXPECT_EQ(pid(), before);
}

TEST_F(DirectPythonCall, OutlivesTheInterpreterThatForkedIt) {
    // If the process goes on from call to call, its parent is no interpreter any more.
    for (int i = 0; i < 5; ++i) {
        run("(lambda os: (os.system('grep -qs link.recv /proc/%d/cmdline && kill -9 %d' % "
            "(os.getppid(), os.getppid())), 'lives')[1])(__import__('os'))");
        EXPECT_THAT(ended.output.result, HasSubstr("lives")) << ended.outcome.reason;
    }
    EXPECT_TRUE(run("1").outcome.succeeded());
}

// Idle ones, when they are given a call and at other moments.
TEST_F(DirectPythonCall, ProcessesAreKilledAtAnyMoment) {
    for (int i = 0; i < 40; ++i) {
        session.launcher->run(
            evaluation(++task, "__import__('os').getpid()", i % 2 == 0 ? "direct" : "fork"));
        session.launcher->run(shell_line(
            ++task,
            "interpreter=$(pgrep -o -f -P $PPID 'exec.link.recv') && pkill -9 -P $interpreter; true"));
    }
    session.collect_ends(80);
    for (const auto& [number, end] : session.ended) {
        const bool killed = end.outcome.ending == Ending::signalled && end.outcome.signal == SIGKILL;
        EXPECT_TRUE(end.outcome.succeeded() || (killed && number % 2 == 1)) << end.outcome.reason;
    }
    EXPECT_TRUE(run("1").outcome.succeeded()) << ended.outcome.reason;
}

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

TEST_F(PythonCall, ArgumentsInMemory) {
    const std::string given = packed("6 * 7");
    const std::array<std::string_view, 2> parts{packed_eval, given};
    const auto memory = MemoryFile::with(parts);
    ASSERT_TRUE(memory.has_value());
    EXPECT_EQ(memory->copy(), std::string(packed_eval) + given);
    const auto end_with = [&](std::uint64_t task, std::uint64_t serial) {
        process::Order order = evaluation(task, "1");
        order.call->arguments =
            first_lines(given, "", "fork") + memory->path() + " " + std::to_string(serial) + "\n";
        return session.run(std::move(order));
    };
    const TaskEnded end = end_with(1, memory->serial());
    EXPECT_THAT(end.output.result, StartsWith("R "));
    EXPECT_THAT(end.output.result, HasSubstr("K*"));  // 42, pickled
    const TaskEnded other = end_with(2, memory->serial() + 1);
    EXPECT_THAT(other.output.result, StartsWith("M "));
    EXPECT_THAT(other.output.result, HasSubstr("has others now"));
}

TEST_F(PythonCall, ArgumentsInMemoryThatIsGone) {
    process::Order order = evaluation(1, "1");
    order.call->arguments = first_lines("1", "", "fork") + "/proc/1/fd/999999 3\n";
    const TaskEnded end = session.run(std::move(order));
    EXPECT_THAT(end.output.result, StartsWith("M "));
    EXPECT_THAT(end.output.result, HasSubstr("in a memory of the manager, which is gone"));
}

TEST_F(PythonCall, AnEnvironmentThatIsNotThere) {
    process::Order order = evaluation(1, "1");
    order.call->arguments = python_arguments("1", "env.tar.gz");
    order.directory = session.folder.path();
    const TaskEnded end = session.run(std::move(order));
    EXPECT_EQ(end.outcome.ending, Ending::not_started);
    EXPECT_THAT(end.outcome.reason, HasSubstr("env.tar.gz: No such file"));
}

// As if nobody had set WORK_QUEUE_PYTHON.
class NoneChosen {
  public:
    NoneChosen() {
        if (const char* const chosen = std::getenv(variable)) before_ = chosen;
        unsetenv(variable);
    }
    ~NoneChosen() {
        if (!before_.empty()) setenv(variable, before_.c_str(), 1);
    }
    NoneChosen(const NoneChosen&) = delete;

  private:
    static constexpr const char* variable = "WORK_QUEUE_PYTHON";
    std::string before_;
};

TEST(PythonOfACall, IsNotAnotherVersionAtTheManagersPath) {
    const Folder folder;
    const std::string bin = folder / "bin";
    std::filesystem::create_directories(bin + "/newer");
    for (const std::string& file : {bin + "/python3.9", bin + "/newer/python3.11"}) {
        std::ofstream(file) << "#!/bin/sh\n";
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    std::filesystem::create_symlink("python3.9", bin + "/python3");
    const NoneChosen none;
    calls::PythonCall call{"3.11", bin + "/python3", "", false};
    EXPECT_EQ(calls::find_python(call, bin + "/newer"), bin + "/newer/python3.11");
    call.version = "3.9";
    EXPECT_EQ(calls::find_python(call, bin + "/newer"), bin + "/python3");
}

TEST(PythonCallWithoutPython, SaysSo) {
    const NoneChosen none;
    Session session(1);
    session.options.environment.emplace_back("PATH", "/nowhere");
    session.open();
    const TaskEnded end = session.run(evaluation(1, "1"));
    EXPECT_EQ(end.outcome.ending, Ending::not_started);
    EXPECT_THAT(end.outcome.reason, HasSubstr("no Python here"));
}

}  // namespace
}  // namespace wq::node::launcher::test

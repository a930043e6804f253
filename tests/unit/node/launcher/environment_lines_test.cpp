// `#!` lines: one shell per worker, tasks in subshells of it.
#include <sys/resource.h>
#include <sys/stat.h>

#include "support/ordinary_user.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using engine::model::Ending;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class EnvironmentLines : public testing::TestWithParam<const char*> {
  protected:
    EnvironmentLines() {
        session.options.environment_lines = true;
        session.options.shell = GetParam();
    }
    void SetUp() override {
        if (access(GetParam(), X_OK) != 0) GTEST_SKIP() << GetParam() << " is not there";
        session.open();
    }
    void TearDown() override {
        if (IsSkipped()) std::filesystem::create_directories(session.folder / "scratch");
    }
    void line(std::uint64_t position, const std::string& text) {
        session.launcher->environment({position, text});
    }
    static process::Order at(std::uint64_t task, std::uint64_t position, const std::string& text) {
        process::Order order = shell_line(task, text);
        order.environment_position = position;
        return order;
    }
    std::string text_of(std::uint64_t task, std::uint64_t position, const std::string& text) {
        return session.run(at(task, position, text)).output.out;
    }
    Session session;
};

TEST_P(EnvironmentLines, TasksSeeFunctionsVariablesMaskAndFolder) {
    line(1, "greet() { echo \"hello $1\"; }");
    line(2, "name=world; export SHOWN=yes");
    line(3, "umask 027; mkdir sub && cd sub");
    EXPECT_EQ(text_of(1, 3, "greet $name; umask; basename $PWD; sh -c 'echo $SHOWN'"),
              "hello world\n0027\nsub\nyes\n");
    EXPECT_THAT(session.lines, IsEmpty());
}

TEST_P(EnvironmentLines, MayNameTheHostsOfMpirun) {
    line(1, "true");
    line(2, "export HYDRA_HOST_FILE=mine");
    EXPECT_THAT(text_of(1, 1, "echo $HYDRA_HOST_FILE"), testing::EndsWith("/work_queue_hosts.1.hydra\n"));
    EXPECT_EQ(text_of(2, 2, "echo $HYDRA_HOST_FILE"), "mine\n");
    process::Order keeps = at(3, 1, "echo ${HYDRA_HOST_FILE-none} ${OMPI_MCA_ras-none}");
    keeps.variables.emplace_back("WORK_QUEUE_BATCH_ENVIRONMENT", "keep");
    EXPECT_EQ(session.run(keeps).output.out, "none none\n");
}

TEST_P(EnvironmentLines, ATaskMayBeginInAFolderOfItsOwn) {
    const std::string own = session.folder / "its own";
    std::filesystem::create_directory(own);
    line(1, "cd /; cd() { echo mine; }");
    process::Order order = at(1, 1, "pwd");
    order.directory = own;
    EXPECT_EQ(session.run(order).output.out, own + "\n");
    EXPECT_EQ(text_of(2, 1, "pwd"), "/\n");
    order = at(3, 1, "pwd");
    order.directory = own + "/nowhere";
    EXPECT_EQ(session.run(order).outcome.exit_code, 126);
}

TEST_P(EnvironmentLines, AnErrorDoesNotNameAScriptThatUsersDoNotHave) {
    line(1, "cd nowhere");
    line(2, "echo /proc/1/fd/2: line 1: mine >&2");
    EXPECT_EQ(text_of(1, 2, "echo ran"), "ran\n");
    ASSERT_EQ(session.lines.size(), 2U);
    EXPECT_THAT(session.lines[0].output.err, StartsWith("cd: "));
    EXPECT_THAT(session.lines[0].output.err, HasSubstr("nowhere"));
    EXPECT_EQ(session.lines[1].output.err, "/proc/1/fd/2: line 1: mine\n");
}

TEST_P(EnvironmentLines, ATaskAboveAllLinesNeedsNoShell) {
    line(1, "sleep 1000");
    process::Order direct = at(1, 0, "");
    direct.argv = {"echo", "direct"};
    EXPECT_EQ(session.run(direct).output.out, "direct\n");
}

TEST_P(EnvironmentLines, ATaskChangesNothingForTheNext) {
    line(1, "a=1");
    EXPECT_EQ(text_of(1, 1, "a=2; cd /; echo $a"), "2\n");
    EXPECT_EQ(text_of(2, 1, "echo $a; basename $PWD"),
              "1\n" + std::filesystem::path(session.folder.path()).filename().string() + "\n");
}

TEST_P(EnvironmentLines, EachTaskSeesTheLinesAboveItOnceInOrder) {
    for (std::uint64_t position = 1; position <= 5; ++position)
        line(position,
             "seen=\"${seen}" + std::to_string(position) + "\"; echo " + std::to_string(position) + " >>log");
    for (std::uint64_t task = 0; task <= 5; ++task)
        EXPECT_EQ(text_of(task, task, "echo $seen"), std::string("12345").substr(0, task) + "\n");
    EXPECT_EQ(read_file(session.folder / "log"), "1\n2\n3\n4\n5\n");
}

TEST_P(EnvironmentLines, AShellThatStandsTooFarDownIsReplaced) {
    line(1, "seen=1");
    line(2, "seen=$seen,2");
    EXPECT_EQ(text_of(1, 2, "echo $seen"), "1,2\n");
    EXPECT_EQ(text_of(2, 1, "echo $seen"), "1\n");
    EXPECT_EQ(text_of(3, 0, "echo none$seen"), "none\n");
    EXPECT_EQ(text_of(4, 2, "echo $seen"), "1,2\n");
}

TEST_P(EnvironmentLines, AShellKilledByATaskIsReplaced) {
    line(1, "seen=1");
    const TaskEnded end = session.run(at(1, 1, "kill -9 $$; echo still here"));
    EXPECT_EQ(end.output.out, "still here\n");  // $$ is the worker's shell; the task runs in a subshell
    EXPECT_EQ(text_of(2, 1, "echo $seen"), "1\n");
}

TEST_P(EnvironmentLines, StatusSignalsAndUsageAreExact) {
    line(1, ":");
    EXPECT_EQ(session.run(at(1, 1, "exit 41")).outcome.exit_code, 41);
    EXPECT_EQ(session.run(at(2, 1, "false")).outcome.exit_code, 1);
    EXPECT_EQ(session.run(at(3, 1, "no-such-command-anywhere")).outcome.exit_code, 127);
    EXPECT_EQ(session.run(at(4, 1, "if then")).outcome.ending, Ending::exited);
    EXPECT_NE(session.ended[4].outcome.exit_code, 0);
    const TaskEnded busy =
        session.run(at(5, 1, "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo oh >&2"));
    EXPECT_GT(busy.outcome.user_us, 0);
    EXPECT_EQ(busy.output.err, "oh\n");
}

TEST_P(EnvironmentLines, QuotesAndNewlinesReachTheTaskUnchanged) {
    line(1, ":");
    EXPECT_EQ(text_of(1, 1, "printf '%s|' \"it's\" 'a\\b' \"$((1+1))\" \\* 'two\nlines'"),
              "it's|a\\b|2|*|two\nlines|");
    const std::string long_word(200000, 'y');
    EXPECT_EQ(text_of(2, 1, "x=" + long_word + "; echo ${#x}"), "200000\n");
}

TEST_P(EnvironmentLines, TasksRunAtTheSameTimeWithTheirOwnVariables) {
    line(1, ":");
    ASSERT_EQ(mkfifo((session.folder / "pipe").c_str(), 0600), 0);
    session.launcher->run(at(1, 1, "read x <pipe; echo $x $WORK_QUEUE_TASK_ID $OMP_NUM_THREADS"));
    session.launcher->run(at(2, 1, "echo from2 >pipe; echo $WORK_QUEUE_TASK_ID"));
    session.collect_ends(2);
    EXPECT_EQ(session.ended[1].output.out, "from2 1 1\n");
    EXPECT_EQ(session.ended[2].output.out, "2\n");
}

TEST_P(EnvironmentLines, TimeoutsAndKillsReachTheSubshellsTree) {
    line(1, ":");
    process::Order order = at(1, 1, "sleep 1000 & (sleep 1000; true)");
    order.timeout = std::chrono::milliseconds(200);
    EXPECT_EQ(session.run(order).outcome.ending, Ending::timed_out);
    session.launcher->run(at(2, 1, "sleep 1000 & setsid sleep 1000 & wait"));
    session.collect_until([&] {
        return std::find(session.started.begin(), session.started.end(), 2) != session.started.end();
    });
    session.launcher->kill(TaskId(2), 1);
    session.collect_ends(2);
    EXPECT_EQ(session.ended[2].outcome.ending, Ending::killed);
    EXPECT_EQ(text_of(3, 1, "echo on"), "on\n");
}

TEST_P(EnvironmentLines, WhatATaskLeavesIsKilledButDaemonsOfLinesStay) {
    line(1, "sleep 1000 & daemon=$!");
    EXPECT_EQ(text_of(1, 1, "sleep 1000 & (while :; do sleep 1; done) & echo x"), "x\n");
    EXPECT_EQ(text_of(2, 1, "sleep 0.3; kill -0 $daemon && echo alive"), "alive\n");
}

// A worker or a run that is a task itself has that task's variables.
struct VariablesOfATask {
    VariablesOfATask() {
        setenv("WORK_QUEUE_TASK_ID", "1", 1);
        setenv("WORK_QUEUE_ATTEMPT", "1", 1);
    }
    ~VariablesOfATask() {
        unsetenv("WORK_QUEUE_TASK_ID");
        unsetenv("WORK_QUEUE_ATTEMPT");
    }
};
class EnvironmentLinesWithinATask : private VariablesOfATask, public EnvironmentLines {};

TEST_P(EnvironmentLinesWithinATask, DaemonsOfLinesAreNoTasks) {
    line(1, "(sleep 1000 & echo $! >daemon); echo \"${WORK_QUEUE_TASK_ID-none}\"");
    EXPECT_EQ(text_of(1, 1, "sleep 1000 & echo x"), "x\n");  // what it leaves is looked for, and killed
    EXPECT_EQ(text_of(2, 1, "sleep 0.3; kill -0 $(cat daemon) && echo alive"), "alive\n");
    ASSERT_EQ(session.lines.size(), 1U);
    EXPECT_EQ(session.lines[0].output.out, "none\n");
}

TEST_P(EnvironmentLines, WhatALineSaysIsReportedWithItsExitCode) {
    line(1, "echo loaded; echo warning >&2");
    line(2, "false");
    line(3, "if then");
    EXPECT_EQ(text_of(1, 3, "echo ran"), "ran\n");
    ASSERT_EQ(session.lines.size(), 3U);
    EXPECT_EQ(session.lines[0].position, 1U);
    EXPECT_EQ(session.lines[0].exit_code, 0);
    EXPECT_EQ(session.lines[0].output.out, "loaded\n");
    EXPECT_EQ(session.lines[0].output.err, "warning\n");
    EXPECT_EQ(session.lines[1].exit_code, 1);
    EXPECT_NE(session.lines[2].exit_code, 0);
    EXPECT_THAT(session.lines[2].output.err, HasSubstr("yntax error"));
}

TEST_P(EnvironmentLines, ExitInALineEndsTheWorkersShell) {
    line(1, "seen=1");
    line(2, "exit 7");
    session.launcher->run(at(1, 1, "echo $seen"));
    session.launcher->run(at(2, 2, "echo never"));
    session.launcher->run(at(3, 3, "echo never"));
    session.collect_until(
        [&] { return session.left && session.returned.size() == 2 && session.ended.size() == 1; });
    EXPECT_EQ(session.left->position, 2U);
    EXPECT_EQ(session.left->exit_code, 7);
    EXPECT_THAT(session.returned, ElementsAre(2, 3));
    EXPECT_EQ(session.ended[1].output.out, "1\n");
    EXPECT_EQ(text_of(4, 1, "echo $seen"), "1\n");  // above the line that ended it
}

TEST_P(EnvironmentLines, ALineMayRedefineCommandsThatTheLauncherUses) {
    line(1, "read() { :; }; echo() { :; }; export() { :; }");
    EXPECT_EQ(text_of(1, 1, "printf '%s\\n' $WORK_QUEUE_TASK_ID"), "1\n");
    EXPECT_EQ(text_of(2, 1, "printf ok"), "ok");
}

TEST_P(EnvironmentLines, LinesAreToldAgainToANewLauncher) {
    line(1, "seen=1");
    EXPECT_EQ(text_of(1, 1, "echo $seen"), "1\n");
    session.launcher->run(at(2, 1, "kill -9 $PPID; sleep 1000"));
    session.collect_until([&] { return session.died.has_value(); });
    EXPECT_THAT(session.died->started, ElementsAre(std::pair<TaskId, Attempt>(TaskId(2), 1)));
    session.died.reset();
    session.open();
    EXPECT_EQ(text_of(3, 1, "echo $seen"), "1\n");
}

TEST_P(EnvironmentLines, ThreeHundredTasksEndInTheOrderOfOneCore) {
    line(1, "n=0");
    std::vector<std::uint64_t> given;
    for (std::uint64_t task = 0; task < 300; ++task) {
        process::Order order = at(task, 1, "echo $n.$WORK_QUEUE_TASK_ID");
        order.give.cores = 2;
        session.launcher->run(order);
        given.push_back(task);
    }
    session.collect_ends(300);
    EXPECT_THAT(session.order_of_ends, ElementsAreArray(given));
    for (const auto& [task, end] : session.ended)
        EXPECT_EQ(end.output.out, "0." + std::to_string(task) + "\n");
}

enum class Below : int { no_answer, did_not_begin, failed, ran_at_once, ran_later };

// For a user who may have so many processes: what becomes of a task below a line beside one that has none.
// The shell says so each time that it begins anew.
Below fate_with_processes(rlim_t count) {
    const rlimit limit{count, count};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0 || mkfifo("go", 0600) != 0) return Below::did_not_begin;
    auto launcher = Launcher::start();
    LauncherOptions options;
    options.slice = slice_of(2);
    options.shell = "/bin/dash";
    options.environment_lines = true;
    if (!launcher || !(*launcher)->open(options)) return Below::did_not_begin;
    (*launcher)->environment({1, "echo begun"});
    (*launcher)->run(words(1, {"cat", "go"}));
    process::Order below = shell_line(2, "true");
    below.environment_position = 1;
    (*launcher)->run(below);
    constexpr int tries = 3;
    int shells = 0;
    bool gone = false;
    std::map<std::uint64_t, TaskEnded> ended;
    while (ended.size() < 2) {
        pollfd ready{(*launcher)->descriptor(), POLLIN, 0};
        if (poll(&ready, 1, patience_ms) == 0) return Below::no_answer;
        for (const Report& report : (*launcher)->next()) {
            if (std::holds_alternative<LauncherDied>(report)) return Below::did_not_begin;
            if (std::holds_alternative<EnvironmentOutput>(report)) ++shells;
            if (const auto* end = std::get_if<TaskEnded>(&report)) ended[end->task.value()] = *end;
        }
        if (!gone && ended.contains(1)) return Below::did_not_begin;
        if (!gone && (shells == tries || ended.contains(2))) {
            std::ofstream("go") << "go\n";
            gone = true;
        }
    }
    if (!ended[2].outcome.succeeded()) {
        ADD_FAILURE() << ended[2].outcome.reason << ", with " << shells << " shells";
        return Below::failed;
    }
    return shells < tries ? Below::ran_at_once : Below::ran_later;
}

TEST(EnvironmentLinesOfMany, ATaskForWhichNoProcessCanBeForkedWaitsForAnother) {
    if (geteuid() != 0) GTEST_SKIP() << "only root has users whose processes it knows";
    if (access("/bin/dash", X_OK) != 0) GTEST_SKIP() << "/bin/dash is not there";
    constexpr uid_t of_this_test = 60001;
    // As many as are enough for both, then one less each time until they are not.
    Below fate = Below::ran_at_once;
    rlim_t count = 12;
    for (; fate == Below::ran_at_once && count > 0; --count) {
        Folder folder;
        fate = static_cast<Below>(wq::test::as_ordinary_user(
            folder.path(), [&] { return static_cast<int>(fate_with_processes(count)); }, of_this_test));
    }
    EXPECT_LT(count, 11U);
    EXPECT_EQ(fate, Below::ran_later);
}

INSTANTIATE_TEST_SUITE_P(Shells, EnvironmentLinesWithinATask, testing::Values("/bin/sh"));
INSTANTIATE_TEST_SUITE_P(Shells, EnvironmentLines, testing::Values("/bin/bash", "/bin/dash"),
                         [](const auto& shell) {
                             return std::filesystem::path(shell.param).filename().string();
                         });

}  // namespace
}  // namespace wq::node::launcher::test

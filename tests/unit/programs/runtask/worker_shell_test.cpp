#include "programs/runtask/worker_shell.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/text.h"
#include "node/process/process_tree.h"
#include "support/folder.h"
#include "unit/programs/runtask/shell_host.h"

namespace wq::programs::runtask {
namespace {

using ::testing::HasSubstr;

constexpr Duration patience = std::chrono::seconds(60);

bool process_lives(pid_t pid) {
    return ::kill(pid, 0) == 0;
}

// A shell with what it says and does; each test is run with bash and with sh.
class Shells : public ::testing::TestWithParam<const char*> {
  protected:
    WorkerShell& shell() {
        if (!shell_) {
            settings.shell = GetParam();
            settings.say = [this](const std::string& line) { said_ += line + "\n"; };
            shell_.emplace(settings);
        }
        return *shell_;
    }
    // Until something has happened.
    ShellEvent next_event() {
        const Instant end = instant_now() + patience;
        while (events_.empty()) {
            for (ShellEvent& event : shell().take_events(instant_now()).or_throw())
                events_.push_back(std::move(event));
            if (!events_.empty()) break;
            std::vector<pollfd> ready;
            shell().add_descriptors(ready);
            int wait = 1000;
            if (const auto next = shell().next())
                wait = static_cast<int>(
                    std::chrono::ceil<std::chrono::milliseconds>(*next - instant_now()).count());
            ::poll(ready.data(), ready.size(), std::clamp(wait, 0, 1000));
            if (instant_now() > end) throw Failure{{ExitCode::internal, "nothing happened"}};
        }
        ShellEvent event = std::move(events_.front());
        events_.pop_front();
        return event;
    }
    void wait_until_ready() {
        while (!shell().ready()) {
            for (ShellEvent& event : shell().take_events(instant_now()).or_throw())
                events_.push_back(std::move(event));
            std::vector<pollfd> ready;
            shell().add_descriptors(ready);
            if (!shell().ready()) ::poll(ready.data(), ready.size(), 1000);
        }
    }
    void see_what_happens() {
        for (ShellEvent& event : shell().take_events(instant_now()).or_throw())
            events_.push_back(std::move(event));
    }
    // False: something has happened before.
    bool wait_for_news() {
        if (!events_.empty()) return false;
        std::vector<pollfd> ready;
        shell().add_descriptors(ready);
        return ::poll(ready.data(), ready.size(), 60'000) > 0;
    }
    void restart() {
        shell_.reset();
        events_.clear();
    }
    LineAnswer environment(const std::string& line) {
        shell().begin_environment(line);
        return std::get<EnvironmentLineEnded>(next_event()).answer;
    }
    TaskEnded ended(const std::string& line) {
        shell().begin_task(++key_, line);
        return std::get<TaskEnded>(next_event());
    }
    int task(const std::string& line) { return ended(line).exit_code; }
    // What the line wrote to $out.
    std::string output(const std::string& line) {
        std::filesystem::remove(folder / "out");
        EXPECT_EQ(task("command eval " + single_quoted(line) + " >" + folder / "out"), 0) << line;
        return test::read_file(folder / "out");
    }
    pid_t pid_in(const std::string& name) { return std::stoi(test::read_file(folder / name)); }
    // A killed process is there until its parent, or who adopts it, has waited for it.
    void wait_for_end_of(const std::string& name) {
        const Instant limit = instant_now() + patience;
        while (process_lives(pid_in(name))) ASSERT_LT(instant_now(), limit);
    }

    test::Folder folder;
    WorkerShell::Settings settings;
    std::string said_;
    TaskKey key_ = 0;

  private:
    std::optional<WorkerShell> shell_;
    std::deque<ShellEvent> events_;
};
INSTANTIATE_TEST_SUITE_P(, Shells, ::testing::Values("/bin/bash", "/bin/dash"),
                         [](const auto& shell) { return std::string(shell.param).substr(5); });

TEST_P(Shells, LinesSeeWhatEnvironmentLinesHaveDone) {
    EXPECT_EQ(environment("cd " + folder.path() + "; x=5; f() { echo \"f:$1\"; }; umask 027; ulimit -c 0")
                  .directory,
              folder.path());
    EXPECT_EQ(environment("alias hi='echo alias'").exit_code, 0);
    EXPECT_EQ(output("echo $x; f 'a b'; umask; pwd; ulimit -c"),
              "5\nf:a b\n0027\n" + folder.path() + "\n0\n");
    EXPECT_EQ(task("hi >out"), 0);
    EXPECT_EQ(test::read_file(folder / "out"), "alias\n");
}

TEST_P(Shells, LinesChangeNothingForOthers) {
    environment("x=1; cd " + folder.path());
    EXPECT_EQ(task("x=2; cd /; exit 3"), 3);
    EXPECT_EQ(output("echo $x $PWD"), "1 " + folder.path() + "\n");
    EXPECT_EQ(environment("y=$$").exit_code, 0);
    EXPECT_EQ(task("test $y = $$"), 0);
}

TEST_P(Shells, ExportedVariables) {
    shell().export_variables({{"WORKERID", "7"}, {"TASKFILE", "/a 'b'"}});
    EXPECT_EQ(output("sh -c 'echo $WORKERID; echo \"$TASKFILE\"'"), "7\n/a 'b'\n");
    shell().export_variables({{"WORKERID", "8"}});
    EXPECT_EQ(output("echo $WORKERID"), "8\n");
}

TEST_P(Shells, TextReachesThemByteByByte) {
    std::string bytes;
    for (int c = 1; c < 256; ++c)
        if (c != '\n') bytes += static_cast<char>(c);
    EXPECT_EQ(output("printf %s " + single_quoted(bytes)), bytes);
    EXPECT_EQ(output(R"(echo "a\$b" 'c"d' \\ e#f '#g' "\"" `echo h` $(echo "i  j") # k)"),
              "a$b c\"d \\ e#f #g \" h i j\n");
    EXPECT_EQ(output("printf %s ' a  \t b '"), " a  \t b ");
}

TEST_P(Shells, LinesOfAMegabyte) {
    const std::string text(1 << 20, 'x');
    EXPECT_TRUE(output("echo " + text) == text + "\n");
    EXPECT_EQ(environment("v=" + text).exit_code, 0);
    EXPECT_EQ(task("test ${#v} = 1048576"), 0);
}

TEST_P(Shells, ASyntaxErrorFailsItsLineOnly) {
    for (const char* line :
         {"echo 'open", "if then", "for", "(", ")", "case", "`", "a=(", "${", "echo \"$(\""}) {
        EXPECT_NE(task(line), 0) << line;
        EXPECT_NE(environment(line).exit_code, 0) << line;
    }
    EXPECT_EQ(environment("nosuchcommand").exit_code, 127);
    EXPECT_EQ(environment("cd /nosuchfolder").exit_code == 0, false);
    EXPECT_EQ(task("true"), 0);
}

TEST_P(Shells, VariablesThatChangeTheList) {
    const LineAnswer answer = environment("newtask='~/b c.sh'; newid=$((3+4))");
    EXPECT_EQ(answer.newtask, "~/b c.sh");
    EXPECT_EQ(answer.newid, "7");
    EXPECT_EQ(answer.jumpto, "");
    EXPECT_EQ(environment("jumpto=h:x").jumpto, "h:x");
    EXPECT_EQ(environment("true").jumpto, "");
    EXPECT_EQ(task("newtask=z"), 0);
    EXPECT_EQ(environment("true").newtask, "");
}

TEST_P(Shells, OptionsOfTheShell) {
    environment("set -e");
    EXPECT_EQ(task("false; touch " + folder / "wrong"), 1);
    EXPECT_FALSE(std::filesystem::exists(folder / "wrong"));
    environment("set +e; set -u; set -a; set -f; set -C; a=1");
    EXPECT_NE(task("echo $nosuchvariable"), 0);
    EXPECT_EQ(output("env | grep ^a="), "a=1\n");
    EXPECT_EQ(environment("IFS='c;'; printf() { false; }; alias read=false unset=false").exit_code, 0);
    EXPECT_EQ(task("true"), 0);
}

TEST_P(Shells, ExitInAnEnvironmentLineEndsTheShell) {
    environment("x=1");
    shell().begin_environment("exit 7");
    EXPECT_EQ(std::get<ShellLeft>(next_event()).exit_code, 7);
}

TEST_P(Shells, AShellThatATaskKillsIsStartedAnew) {
    environment("cd " + folder.path());
    environment("echo x >>count; export y=2");
    EXPECT_EQ(task("kill -9 $$; exec tail -f /dev/null"), 137);
    EXPECT_THAT(said_, HasSubstr("killed"));
    EXPECT_EQ(output("echo $y $PWD"), "2 " + folder.path() + "\n");
    EXPECT_EQ(test::read_file(folder / "count"), "x\nx\n");
    shell().forget_lines();
    EXPECT_NE(task("kill -9 $$; exec tail -f /dev/null"), 0);
    EXPECT_EQ(output("echo \"$y\""), "\n");
}

// For what ends by itself, or has to begin before its time is over.
constexpr std::chrono::seconds long_enough{2};

TEST_P(Shells, ATimeLimitKillsTheLineWithAllItsProcesses) {
    settings.timeout = long_enough;
    environment("tail -f /dev/null & echo $! >" + folder / "service");
    const std::string line = "tail -f /dev/null & echo $! >" + folder / "child; " +
                             "setsid sh -c 'echo $$ >" + folder / "session; exec tail -f /dev/null' & " +
                             "trap '' TERM; tail -f /dev/null; tail -f /dev/null; tail -f /dev/null";
    const TaskEnded end = ended(line);
    EXPECT_EQ(end.exit_code, timeout_exit_code);
    EXPECT_TRUE(end.timed_out);
    EXPECT_TRUE(process_lives(pid_in("service")));
    const Instant limit = instant_now() + patience;
    while (process_lives(pid_in("child")) || process_lives(pid_in("session")))
        ASSERT_LT(instant_now(), limit);
    EXPECT_EQ(said_, "");
    EXPECT_EQ(task("true"), 0);
}

// While the worker waits for the list, another thread enforces limits.
TEST_P(Shells, ATimeLimitIsEnforcedWithoutTheWorker) {
    for (const bool background : {false, true}) {
        settings.background = background;
        settings.timeout = std::chrono::hours(1);
        const std::string pid = folder / (background ? "two" : "one");
        restart();
        shell().begin_task(++key_, "sh -c 'echo $$ >" + pid + "; exec tail -f /dev/null'; true");
        while (test::read_file(pid).find('\n') == std::string::npos) see_what_happens();
        const Instant late = instant_now() + std::chrono::hours(2);
        EXPECT_LT(shell().enforce_limits(late), late + std::chrono::seconds(1));
        const Instant limit = instant_now() + patience;
        const pid_t killed = std::stoi(test::read_file(pid));
        while (process_lives(killed)) ASSERT_LT(instant_now(), limit);
        EXPECT_TRUE(std::get<TaskEnded>(next_event()).timed_out);
        EXPECT_EQ(shell().next(), std::nullopt);
    }
}

TEST_P(Shells, ALineThatEndedUnnoticedHasKeptItsTimeLimit) {
    for (const bool background : {false, true}) {
        settings.background = background;
        settings.timeout = std::chrono::hours(1);
        restart();
        shell().begin_task(++key_, "exit 3");
        if (background) wait_until_ready();
        see_what_happens();
        const Instant late = instant_now() + std::chrono::hours(2);
        if (wait_for_news()) {
            EXPECT_GT(shell().enforce_limits(late), late);
        }
        const TaskEnded end = std::get<TaskEnded>(next_event());
        EXPECT_EQ(end.exit_code, 3);
        EXPECT_FALSE(end.timed_out);
    }
}

TEST_P(Shells, SeveralLinesAtOnce) {
    settings.background = true;
    environment("x=1; cd " + folder.path());
    shell().begin_task(1, "mkfifo a; echo $x; cat a; echo $WORKERID; exit 5");
    wait_until_ready();
    shell().begin_task(2, "until test -p a; do :; done; echo two; echo go >a");
    EXPECT_EQ(shell().tasks(), 2U);
    std::map<TaskKey, TaskEnded> ends;
    for (int n = 0; n < 2; ++n) {
        TaskEnded end = std::get<TaskEnded>(next_event());
        ends[end.key] = std::move(end);
    }
    EXPECT_EQ(ends[1].exit_code, 5);
    EXPECT_EQ(ends[2].exit_code, 0);
    EXPECT_EQ(test::read_file("/proc/self/fd/" + std::to_string(ends[1].output.get())), "1\ngo\n\n");
    EXPECT_EQ(test::read_file("/proc/self/fd/" + std::to_string(ends[2].output.get())), "two\n");
}

TEST_P(Shells, SeveralLinesAtOnceHaveTimeLimitsAndExactEnds) {
    settings.background = true;
    settings.timeout = long_enough;
    EXPECT_EQ(task("kill -9 $$; true"), 0);  // not its own process
    EXPECT_EQ(task("exit 9"), 9);
    EXPECT_EQ(task("sh -c 'kill -TERM $$'"), 143);
    EXPECT_EQ(task("read x && exit 1; true"), 0);  // there is nothing to read
    const TaskEnded end = ended("tail -f /dev/null & echo $! >" + folder / "child; tail -f /dev/null");
    EXPECT_TRUE(end.timed_out);
    wait_for_end_of("child");
}

TEST_P(Shells, AllIsKilledAtOnce) {
    environment("x=4");
    shell().begin_task(1, "echo $$ >" + folder / "pid; tail -f /dev/null");
    while (test::read_file(folder / "pid").find('\n') == std::string::npos) {
        shell().take_events(instant_now()).or_throw();
        std::vector<pollfd> ready;
        shell().add_descriptors(ready);
        ::poll(ready.data(), ready.size(), 10);
    }
    shell().kill_all();
    EXPECT_EQ(std::get<TaskEnded>(next_event()).exit_code, 137);
    wait_for_end_of("pid");
    EXPECT_EQ(output("echo $x"), "4\n");
}

TEST_P(Shells, ALineThatEndedUnnoticedIsNotKilled) {
    for (const bool soon : {false, true}) {
        restart();
        shell().begin_task(++key_, "exit 3");
        see_what_happens();
        if (!wait_for_news()) continue;  // it was fast
        if (soon) shell().kill_all_soon();
        shell().kill_all();
        EXPECT_EQ(std::get<TaskEnded>(next_event()).exit_code, 3);
    }
}

TEST_P(Shells, AHostThatATaskKills) {
    environment("x=3");
    EXPECT_EQ(task("sh -c 'echo $PPID' >" + folder / "pid; kill -9 $PPID; exec tail -f /dev/null"), 137);
    wait_for_end_of("pid");
    EXPECT_EQ(output("echo $x"), "3\n");
}

// Another process that owns a shell is killed: all that its lines run ends.
TEST_P(Shells, NothingRunsOnWhenTheWorkerIsKilled) {
    std::array<int, 2> ends{-1, -1};
    ASSERT_EQ(::pipe(ends.data()), 0);  // inherited: closed once nothing runs
    const pid_t worker = ::fork();
    if (worker == 0) {
        ::close(ends[0]);
        const std::string file = folder / "pids";
        shell().begin_task(1, "(setsid tail -f /dev/null & echo $! >" + file + "); echo $$ >>" + file +
                                  "; tail -f /dev/null");
        for (;;) next_event();
    }
    ::close(ends[1]);
    const Instant limit = instant_now() + patience;
    std::string pids;
    while (std::ranges::count(pids, '\n') < 2) {
        pids = test::read_file(folder / "pids");
        ASSERT_LT(instant_now(), limit);
    }
    ::kill(worker, SIGKILL);
    ::waitpid(worker, nullptr, 0);
    std::istringstream numbers(pids);
    for (pid_t pid = 0; numbers >> pid;)
        while (process_lives(pid)) ASSERT_LT(instant_now(), limit);
    ::close(ends[0]);
}

}  // namespace
}  // namespace wq::programs::runtask

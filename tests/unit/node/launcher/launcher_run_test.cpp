// What a task gets and what is told of it.
#include <sys/resource.h>
#include <sys/stat.h>

#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using engine::model::Ending;
using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(LauncherRun, KeepsTheStreamsApartAndTellsTheExitCode) {
    Session session;
    session.open();
    const TaskEnded end = session.run(shell_line(7, "echo hi; echo oh >&2; exit 3"));
    EXPECT_EQ(end.outcome.ending, Ending::exited);
    EXPECT_EQ(end.outcome.exit_code, 3);
    EXPECT_EQ(end.output.out, "hi\n");
    EXPECT_EQ(end.output.err, "oh\n");
    EXPECT_EQ(end.outcome.stdout_bytes, 3U);
    EXPECT_EQ(end.outcome.stderr_bytes, 3U);
    EXPECT_EQ(end.attempt, 1U);
}

TEST(LauncherRun, EveryExitCodeComesBack) {
    Session session;
    session.open();
    for (std::uint64_t code = 0; code < 256; ++code)
        session.launcher->run(shell_line(code, "exit " + std::to_string(code)));
    session.collect_ends(256);
    for (std::uint64_t code = 0; code < 256; ++code)
        EXPECT_EQ(session.ended[code].outcome.exit_code, static_cast<int>(code));
}

TEST(LauncherRun, MoreTasksThanTheLimitOfDescriptorsHasRoomForRunAtOnceAndKeepThatLimit) {
    const FewDescriptors limit(64);
    constexpr std::size_t cores = 40;
    Session session(cores);
    session.open();
    const std::string gate = session.folder / "gate";
    ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
    // Held open until all have ended: a task that opens it last finds its line.
    const Descriptor opener(open(gate.c_str(), O_RDWR | O_CLOEXEC));
    for (std::uint64_t task = 1; task <= cores; ++task)
        session.launcher->run(shell_line(task, "ulimit -Sn; read line <gate"));
    session.collect_until([&] { return session.started.size() + session.ended.size() >= cores; });
    EXPECT_EQ(session.started.size(), cores);
    const std::string lines(cores, '\n');
    ASSERT_EQ(write(opener.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
    session.collect_ends(cores);
    for (const auto& [task, end] : session.ended) EXPECT_EQ(end.output.out, "64\n") << end.outcome.reason;
}

TEST(LauncherRun, StartsTasksWhereItWasToldToEnter) {
    Session session;
    session.open();
    const Folder folder;
    const std::string before = session.run(shell_line(1, "pwd")).output.out;
    session.launcher->enter(folder.path());
    EXPECT_EQ(session.run(shell_line(2, "pwd -P")).output.out,
              std::filesystem::canonical(folder.path()).string() + "\n");
    session.launcher->enter("/no such folder");
    EXPECT_EQ(session.run(shell_line(3, "pwd")).output.out, before);
    session.launcher->enter(folder.path());
    session.launcher->enter("");
    EXPECT_EQ(session.run(shell_line(4, "pwd")).output.out, before);
}

TEST(LauncherRun, LooksForCommandsInRelativeFoldersOfPathWhereTheTaskBegins) {
    Session session;
    session.options.environment.emplace_back("PATH", "bin:/usr/bin:/bin");
    session.open();
    for (const char* name : {"one", "two"}) {
        const std::string bin = session.folder / name + "/bin";
        std::filesystem::create_directories(bin);
        std::ofstream(bin + "/tool") << "#!/bin/sh\necho " << name << "\n";
        std::filesystem::permissions(bin + "/tool", std::filesystem::perms::all);
    }
    process::Order order = words(1, {"tool"});
    for (const char* name : {"one", "two"}) {
        order.directory = session.folder / name;
        EXPECT_EQ(session.run(order).output.out, std::string(name) + "\n");
        order.task = TaskId(order.task.value() + 1);
    }
    EXPECT_EQ(session.run(words(3, {"tool"})).outcome.exit_code, 127);
    order.task = TaskId(4);
    order.directory = session.folder / "one";
    order.variables = {{"PATH", "/no such folder:bin"}};
    EXPECT_EQ(session.run(order).output.out, "one\n");
}

TEST(LauncherRun, ATaskBeginsInAFolderOfItsOwn) {
    Session session;
    session.open();
    const std::string own = session.folder / "own, with 'quotes'";
    std::filesystem::create_directory(own);
    std::ofstream(own + "/here") << "#!/bin/sh\necho found\n";
    std::filesystem::permissions(own + "/here", std::filesystem::perms::all);
    process::Order line = shell_line(1, "pwd; ./here");
    line.directory = own;
    EXPECT_EQ(session.run(line).output.out, own + "\nfound\n");
    process::Order argv = words(2, {"./here"});
    argv.directory = own;
    EXPECT_EQ(session.run(argv).output.out, "found\n");
    EXPECT_EQ(session.run(shell_line(3, "pwd")).output.out, session.folder.path() + "\n");
    process::Order nowhere = shell_line(4, "pwd");
    nowhere.directory = own + "/nowhere";
    const engine::model::Outcome outcome = session.run(nowhere).outcome;
    EXPECT_EQ(outcome.ending, engine::model::Ending::not_started);
    EXPECT_EQ(outcome.exit_code, 126);
    EXPECT_EQ(outcome.started_us, 0) << "its command was not tried";
    EXPECT_EQ(outcome.reason, "cannot enter '" + own + "/nowhere': No such file or directory");
    process::Order command = words(5, {"pwd"});
    command.directory = own + "/nowhere";
    EXPECT_EQ(session.run(command).outcome.reason, outcome.reason);
}

TEST(LauncherRun, TellsTheSignalThatEndedATask) {
    Session session;
    session.open();
    const TaskEnded end = session.run(shell_line(1, "kill -9 $$"));
    EXPECT_EQ(end.outcome.ending, Ending::signalled);
    EXPECT_EQ(end.outcome.signal, 9);
    EXPECT_EQ(session.run(shell_line(2, "kill -SEGV $$")).outcome.signal, SIGSEGV);
    EXPECT_TRUE(session.run(shell_line(3, "true")).outcome.succeeded());
}

TEST(LauncherRun, MeasuresTimeAndMemory) {
    Session session;
    session.open();
    const WallMicros before = wall_now();
    const TaskEnded end = session.run(shell_line(1,
                                                 "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; head -c "
                                                 "30000000 /dev/zero | tail -c 1 >/dev/null"));
    EXPECT_TRUE(end.outcome.succeeded());
    EXPECT_THAT(end.outcome.started_us, Ge(before));
    EXPECT_THAT(end.outcome.wall_us, Ge(end.outcome.user_us / 4));
    EXPECT_GT(end.outcome.user_us, 0);
    EXPECT_GT(end.outcome.peak_memory_kb, 100);
}

TEST(LauncherRun, ExecutesWordsDirectlyByPath) {
    Session session;
    session.open();
    EXPECT_EQ(session.run(words(1, {"printf", "%s|", "a b", "$HOME", "*"})).output.out, "a b|$HOME|*|");
    EXPECT_EQ(session.run(words(2, {"/bin/echo", "absolute"})).output.out, "absolute\n");
}

TEST(LauncherRun, SaysWhyAFileCannotBeExecuted) {
    Session session;
    session.open();
    const std::string plain = session.folder / "plain";
    std::ofstream(plain) << "text";
    chmod(plain.c_str(), 0644);
    const TaskEnded missing = session.run(words(1, {"no-such-command-anywhere"}));
    EXPECT_EQ(missing.outcome.ending, Ending::not_started);
    EXPECT_EQ(missing.outcome.exit_code, 127);
    EXPECT_NE(missing.outcome.started_us, 0) << "a shell would have tried it";
    EXPECT_THAT(missing.outcome.reason, HasSubstr("'no-such-command-anywhere' is not in PATH"));
    const TaskEnded denied = session.run(words(2, {"./plain"}));
    EXPECT_EQ(denied.outcome.ending, Ending::not_started);
    EXPECT_EQ(denied.outcome.exit_code, 126);
    EXPECT_NE(denied.outcome.started_us, 0);
    EXPECT_THAT(denied.outcome.reason, HasSubstr("Permission denied"));
    EXPECT_EQ(session.run(words(3, {"./nowhere"})).outcome.exit_code, 127);
    EXPECT_EQ(session.run(shell_line(4, "no-such-command-anywhere")).outcome.exit_code, 127);
    EXPECT_EQ(session.run(shell_line(5, "./plain")).outcome.exit_code, 126);
}

TEST(LauncherRun, RunsAScriptWithoutInterpreterLineByTheShell) {
    Session session;
    session.open();
    const std::string script = session.folder / "script";
    std::ofstream(script) << "echo script $1\n";
    chmod(script.c_str(), 0755);
    EXPECT_EQ(session.run(words(1, {"./script", "arg"})).output.out, "script arg\n");
}

TEST(LauncherRun, FindsACommandThatMoved) {
    Session session;
    const std::string first = session.folder / "first";
    const std::string second = session.folder / "second";
    std::filesystem::create_directory(first);
    std::filesystem::create_directory(second);
    std::filesystem::create_symlink("/bin/echo", first + "/wq-moves");
    session.options.environment.emplace_back("PATH", first + ":" + second + ":/usr/bin:/bin");
    session.open();
    EXPECT_EQ(session.run(words(1, {"wq-moves", "one"})).output.out, "one\n");
    std::filesystem::rename(first + "/wq-moves", second + "/wq-moves");
    EXPECT_EQ(session.run(words(2, {"wq-moves", "two"})).output.out, "two\n");
}

TEST(LauncherRun, WithoutAPathTheFoldersOfTheSystemAreSearchedAlone) {
    Session session;
    session.open();
    std::filesystem::create_symlink("/bin/echo", session.folder / "wq-here");
    const auto without_path = [&](std::uint64_t task, const char* name) {
        process::Order order = words(task, {name, "found"});
        order.variables = {{"PATH", {}}};
        return session.run(order);
    };
    EXPECT_EQ(without_path(1, "echo").output.out, "found\n");
    EXPECT_EQ(without_path(2, "wq-here").outcome.exit_code, 127);
}

TEST(LauncherRun, RunsALineOfAMegabyte) {
    Session session;
    session.open();
    const std::string long_word(1 << 20, 'x');
    const TaskEnded end = session.run(shell_line(1, "echo " + long_word));
    EXPECT_TRUE(end.outcome.succeeded()) << end.outcome.reason;
    EXPECT_EQ(end.output.out.size(), long_word.size() + 1);
}

TEST(LauncherRun, TellsATaskWhatItHas) {
    Session session;
    session.options.slice.gpus = {"0", "GPU-abc"};
    session.options.slice.gpu_variable = "CUDA_VISIBLE_DEVICES";
    session.open();
    process::Order order = shell_line(
        42,
        "echo $WORK_QUEUE_TASK_ID $WORK_QUEUE_ATTEMPT $CORES $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS "
        "$MKL_NUM_THREADS $NUMEXPR_NUM_THREADS $VECLIB_MAXIMUM_THREADS $MEMORY $DISK $GPUS "
        "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $WORK_QUEUE_TASK_INDEX");
    order.attempt = 3;
    order.give = {2, 64, 5, 2};
    order.variables = {{"WORK_QUEUE_TASK_INDEX", "17"}};
    EXPECT_EQ(session.run(order).output.out, "42 3 2 2 2 2 2 2 64 5 2 0,GPU-abc PCI_BUS_ID 17\n");
    process::Order without =
        shell_line(43, "echo \"$CORES ${CUDA_VISIBLE_DEVICES-unset}|${WORK_QUEUE_TASK_INDEX-unset}\"");
    EXPECT_EQ(session.run(without).output.out, "1 |unset\n");
}

TEST(LauncherRun, GivesRunningTasksDifferentGpus) {
    Session session(2);
    session.options.slice.gpus = {"0", "1"};
    session.options.slice.gpu_variable = "ROCR_VISIBLE_DEVICES";
    session.open();
    const std::string meet = "echo $ROCR_VISIBLE_DEVICES; mkfifo f$WORK_QUEUE_TASK_ID 2>/dev/null; ";
    for (std::uint64_t task : {1U, 2U}) {
        // Each waits for the other to be there, so both run at once.
        process::Order order = shell_line(
            task, meet + (task == 1 ? "echo x >f1" : "until [ -p f1 ]; do :; done; cat f1 >/dev/null"));
        order.give.gpus = 1;
        session.launcher->run(order);
    }
    session.collect_ends(2);
    EXPECT_THAT((std::vector{session.ended[1].output.out, session.ended[2].output.out}),
                testing::UnorderedElementsAre("0\n", "1\n"));
}

TEST(LauncherRun, HidesTheVariablesOfMpiAndAddsItsOwn) {
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("PMIX_RANK", "3", 1);
    Session session;
    session.options.environment.emplace_back("WORKERID", "5");
    session.options.environment.emplace_back("OMP_NUM_THREADS", "9");
    session.open();
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("PMIX_RANK");
    const std::string text = session.run(shell_line(1, "env")).output.out;
    EXPECT_THAT(text, AllOf(Not(HasSubstr("OMPI_COMM_WORLD")), Not(HasSubstr("PMIX_RANK")),
                            HasSubstr("WORKERID=5\n"), HasSubstr("OMP_NUM_THREADS=9\n"), HasSubstr("PATH=")));
}

TEST(LauncherRun, EachTaskFindsAnEmptyTemporaryFolder) {
    Session session(1);
    session.open();
    for (std::uint64_t task = 0; task < 20; ++task) {
        const char* const mess = task % 4 == 0   ? "touch $TMPDIR/a $TMPDIR/b"
                                 : task % 4 == 1 ? "mkdir -p $TMPDIR/d/e; touch $TMPDIR/d/e/f"
                                 : task % 4 == 2
                                     ? "cd $TMPDIR; i=0; while [ $i -lt 300 ]; do : >$i; i=$((i+1)); done"
                                     : "rm -rf $TMPDIR";
        session.launcher->run(shell_line(task, std::string("cd $TMPDIR && ls -A && cd / && ") + mess));
    }
    session.collect_ends(20);
    for (const auto& [task, end] : session.ended) {
        EXPECT_EQ(end.output.out, "") << task;
        EXPECT_TRUE(end.outcome.succeeded()) << task << end.output.err;
    }
}

TEST(LauncherRun, TasksStartInTheWorkingDirectoryWithNothingOpen) {
    Session session;
    session.open();
    EXPECT_EQ(session.run(shell_line(1, "pwd -P")).output.out,
              std::filesystem::canonical(session.folder.path()).string() + "\n");
    EXPECT_EQ(session.run(words(2, {"ls", "/proc/self/fd"})).output.out,
              "0\n1\n2\n3\n");  // 3: ls reads the folder
    EXPECT_EQ(session.run(words(3, {"readlink", "/proc/self/fd/0"})).output.out, "/dev/null\n");
    EXPECT_EQ(session.run(shell_line(4, "grep -E '^Sig(Blk|Ign)' /proc/self/status")).output.out,
              "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(LauncherRun, LeavesTheLimitOfDescriptorsAsItWas) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    rlimit low = before;
    low.rlim_cur = 128;
    setrlimit(RLIMIT_NOFILE, &low);
    {
        Session session(200);  // more lanes than 128 descriptors hold
        session.open();
        EXPECT_EQ(session.run(shell_line(1, "ulimit -n")).output.out, "128\n");
    }
    setrlimit(RLIMIT_NOFILE, &before);
}

TEST(LauncherRun, BindsATaskToItsCores) {
    const std::vector<int> all = machine::CpuMask::of_process(0).indexes();
    if (all.size() < 2) GTEST_SKIP() << "one core only";
    Session session(2);
    session.options.slice.bind = machine::Binding::core;
    session.open();
    const std::string show = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    EXPECT_EQ(session.run(shell_line(1, show)).output.out, std::to_string(all[0]) + "\n");
    process::Order wide = shell_line(2, "nproc");
    wide.give.cores = 2;
    EXPECT_EQ(session.run(wide).output.out, "2\n");
}

TEST(LauncherRun, NoDescriptorLeaksOverAThousandTasks) {
    Session session(1);
    session.open();
    const std::string count = "ls /proc/$PPID/fd | wc -l";
    for (std::uint64_t task = 0; task < 10; ++task) session.run(shell_line(task, "true"));
    const std::string before = session.run(shell_line(10, count)).output.out;
    for (std::uint64_t task = 11; task < 1011; ++task)
        session.launcher->run(task % 10 == 0
                                  ? shell_line(task, "setsid sleep 1000 & echo x")
                                  : words(task, {task % 3 == 0 ? "/bin/true" : "nowhere-to-be-found"}));
    session.collect_ends(1011);
    EXPECT_EQ(session.run(shell_line(2000, count)).output.out, before);
}

TEST(LauncherRun, ARefusedOptionIsOneLineThatNamesIt) {
    Session session;
    session.options.working_directory = "/no/such/folder";
    std::filesystem::create_directory(session.folder / "scratch");
    const Status status = session.launcher->open(session.options);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, AllOf(StartsWith("cannot enter"), HasSubstr("'/no/such/folder'")));
}

}  // namespace
}  // namespace wq::node::launcher::test

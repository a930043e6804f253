// Every process of a launcher's can be killed; nothing stays and nothing is forgotten.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/descriptor.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Named = std::pair<TaskId, Attempt>;

// With a launcher of one core: task 1 runs `deed`, task 2 waits behind it.
void run_until_death(Session& session, const std::string& deed) {
    session.open();
    session.launcher->run(shell_line(1, deed));
    session.launcher->run(shell_line(2, "true"));
    session.collect_until([&] { return session.died.has_value(); });
}

TEST(LauncherDeath, ATaskThatKillsItsParentKillsTheLauncherOnly) {
    Session session(1);
    run_until_death(session, "setsid sleep 1000 & kill -9 $PPID; sleep 1000");
    ASSERT_TRUE(session.died);
    EXPECT_EQ(session.died->why, "killed by signal 9");
    EXPECT_THAT(session.died->started, ElementsAre(Named(TaskId(1), 1)));
    EXPECT_THAT(session.died->not_started, ElementsAre(Named(TaskId(2), 1)));
    EXPECT_THAT(processes_with(session.mark), IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(session.folder / "scratch"));
}

TEST(LauncherDeath, AStoppedProgramSaysNothingAndItsTasksEnd) {
    Session session(1);
    session.open();
    session.launcher->run(shell_line(1, "setsid sleep 1000 & sleep 1000"));
    session.launcher->keep_until(instant_now());
    session.collect_until([&] { return session.died.has_value(); });
    ASSERT_TRUE(session.died);
    EXPECT_THAT(session.died->why, HasSubstr("stopped for too long"));
    EXPECT_THAT(processes_with(session.mark), IsEmpty());
    session.died.reset();
    session.open();  // without a limit
    EXPECT_EQ(session.run(shell_line(2, "echo x")).output.out, "x\n");
}

// Answers until its socket is closed.
void echo(int socket) {
    for (char word = 0; read(socket, &word, 1) == 1;)
        if (write(socket, &word, 1) != 1) return;
}

TEST(LauncherDeath, LeavesAloneWhatElseTheZygoteForked) {
    Session session(1);
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor ours(ends[0]);
    ASSERT_TRUE(session.launcher->fork_child(ends[1], echo));
    close(ends[1]);
    const auto answers = [&] {
        char word = 'x';
        return write(ours.get(), &word, 1) == 1 && read(ours.get(), &word, 1) == 1;
    };
    EXPECT_TRUE(answers());
    run_until_death(session, "kill -9 $PPID; sleep 1000");
    ASSERT_TRUE(session.died);
    EXPECT_TRUE(answers());
}

// Two cores and a GPU, which task 1 holds and task 2 waits for; task 3, which takes none, goes past it.
void run_past_a_head_that_waits(Session& session, const std::string& first, const std::string& waits,
                                const std::string& passes) {
    session.options.slice.gpus = {"0"};
    session.options.slice.gpu_variable = "CUDA_VISIBLE_DEVICES";
    session.open();
    for (const char* fifo : {"go", "two"}) ASSERT_EQ(mkfifo((session.folder / fifo).c_str(), 0600), 0);
    process::Order order = shell_line(1, first);
    order.give = {0, 0, 0, 1};
    session.launcher->run(order);
    order = shell_line(2, waits);
    order.give = {0, 0, 0, 1};
    session.launcher->run(order);
    session.launcher->run(shell_line(3, passes));
    session.collect_until([&] { return session.died.has_value(); });
}

TEST(LauncherDeath, AnOrderThatWasPassedOverHasNotStarted) {
    Session session(2);
    run_past_a_head_that_waits(session, "sleep 1000", "true", "kill -9 $PPID; sleep 1000");
    ASSERT_TRUE(session.died);
    EXPECT_THAT(session.died->started, ElementsAre(Named(TaskId(1), 1), Named(TaskId(3), 1)));
    EXPECT_THAT(session.died->not_started, ElementsAre(Named(TaskId(2), 1)));
}

TEST(LauncherDeath, WhatWentPastAHeadHasStartedAlsoWhenTheHeadStartsAfterIt) {
    Session session(2);
    run_past_a_head_that_waits(session, "cat go", "echo >two; sleep 1000",
                               "echo >go; cat two; kill -9 $PPID; sleep 1000");
    ASSERT_TRUE(session.died);
    EXPECT_THAT(session.died->started, testing::IsSupersetOf({Named(TaskId(2), 1), Named(TaskId(3), 1)}));
    EXPECT_THAT(session.died->not_started, IsEmpty());
}

TEST(LauncherDeath, ANewLauncherTakesUpTheWork) {
    Session session(1);
    for (std::uint64_t round = 0; round < 5; ++round) {
        session.died.reset();
        run_until_death(session, "kill -9 $PPID; sleep 1000");
        EXPECT_THAT(session.died->started, ElementsAre(Named(TaskId(1), 1)));
    }
    session.died.reset();
    session.open();
    EXPECT_EQ(session.run(shell_line(3, "echo again")).output.out, "again\n");
}

// The one before does not hear that it is to end; its end is no word about the new one.
TEST(LauncherDeath, BeginningAnewOutlastsALauncherThatStandsStill) {
    Session session(1);
    const std::string began = session.folder / "began";
    ASSERT_EQ(mkfifo(began.c_str(), 0600), 0);
    session.open();
    session.launcher->run(shell_line(1, "kill -STOP $PPID; echo $PPID >" + began + "; sleep 1000"));
    session.launcher->next();  // which sends it
    const pid_t old = std::stoi(read_file(began));
    const Status anew = session.launcher->begin_anew(session.options, std::chrono::milliseconds(10));
    ASSERT_TRUE(anew.ok()) << anew.error().message;
    EXPECT_NE(::kill(old, 0), 0) << "the old one is still there";
    EXPECT_EQ(session.run(shell_line(2, "echo new")).output.out, "new\n");
    EXPECT_THAT(session.ended, testing::SizeIs(1));
    session.launcher->run(shell_line(3, "kill -9 $PPID; sleep 1000"));
    session.collect_until([&] { return session.died.has_value(); });
    EXPECT_EQ(session.died->why, "killed by signal 9");
    EXPECT_THAT(session.died->started, ElementsAre(Named(TaskId(3), 1)));
}

TEST(LauncherDeath, EndedTasksThatWereReportedAreNotLost) {
    Session session(1);
    session.open();
    session.run(shell_line(5, "true"));
    session.launcher->run(shell_line(1, "kill -9 $PPID; sleep 1000"));
    session.collect_until([&] { return session.died.has_value(); });
    EXPECT_THAT(session.died->started, ElementsAre(Named(TaskId(1), 1)));
}

TEST(LauncherDeath, OtherSignalsOfATaskDoNotReachTheLauncher) {
    Session session(1);
    session.open();
    EXPECT_TRUE(
        session.run(shell_line(1, "for s in HUP INT QUIT TERM USR1 USR2 PIPE ALRM; do kill -$s $PPID; done"))
            .outcome.succeeded());
    EXPECT_TRUE(session.run(shell_line(2, "true")).outcome.succeeded());
}

TEST(LauncherDeath, OrdersGivenBeforeTheNewLauncherGoToIt) {
    Session session(1);
    run_until_death(session, "kill -9 $PPID; sleep 1000");
    session.died.reset();
    session.launcher->run(shell_line(3, "echo kept"));
    session.open();
    session.collect_ends(1);
    EXPECT_EQ(session.ended[3].output.out, "kept\n");
}

// The end of a launcher shows twice: as end of file of its socket, and later as its parent's word. Orders
// that come in between go nowhere: they are given back by the one report of the death, each once.
TEST(LauncherDeath, OrdersBetweenTheEndOfFileAndTheReportAreGivenBack) {
    Session session(1);
    session.open();
    // The zygote, which is the launcher's parent, is stopped before it can tell of its end.
    session.launcher->run(shell_line(1,
                                     "read a b c zygote rest </proc/$PPID/stat; kill -STOP $zygote; "
                                     "echo $PPID $zygote >>ids; kill -9 $PPID; sleep 1000"));
    session.launcher->run(shell_line(2, "true"));
    pid_t launcher = 0;
    pid_t zygote = 0;
    const auto dead = [&] {
        std::ifstream(session.folder / "ids") >> launcher >> zygote;
        const std::string status = read_file("/proc/" + std::to_string(launcher) + "/status");
        return zygote > 0 && status.find("State:\tZ") != status.npos;
    };
    const auto hear = [&] {
        for (Report& report : session.launcher->next()) session.take(report);
    };
    for (; !dead(); sched_yield()) hear();

    std::vector<Named> given{Named(TaskId(2), 1)};
    for (std::uint64_t task = 10; task < 15; ++task) {  // the first before the end of file is read
        session.launcher->run(shell_line(task, "true"));
        given.emplace_back(TaskId(task), 1);
        hear();
        EXPECT_FALSE(session.died);
    }
    kill(zygote, SIGCONT);
    session.collect_until([&] { return session.died.has_value(); });
    EXPECT_THAT(session.died->started, ElementsAre(Named(TaskId(1), 1)));
    EXPECT_EQ(session.died->not_started, given);
    EXPECT_THAT(session.returned, IsEmpty());
    // Nor does any of them wait for the next launcher.
    session.died.reset();
    session.open();
    EXPECT_EQ(session.run(shell_line(99, "echo again")).output.out, "again\n");
    EXPECT_THAT(session.order_of_ends, ElementsAre(99));
}

TEST(LauncherDeath, WithoutItsZygoteALauncherEndsAndOpenSaysSo) {
    Session session(1);
    // The parent of the launcher, in the fourth field of its stat.
    run_until_death(
        session, "setsid sleep 1000 & read a b c zygote rest </proc/$PPID/stat; kill -9 $zygote; sleep 1000");
    ASSERT_TRUE(session.died);
    EXPECT_THAT(session.died->started, ElementsAre(Named(TaskId(1), 1)));
    const Status again = session.launcher->open(session.options);
    ASSERT_FALSE(again.ok());
    EXPECT_THAT(again.error().message, HasSubstr("was killed"));
    session.launcher->close(std::chrono::seconds(1));
    // The launcher outlives the zygote for as long as it takes to kill and remove.
    while (!processes_with(session.mark).empty() || !std::filesystem::is_empty(session.folder / "scratch"))
        sched_yield();
}

std::size_t children_of(pid_t parent) {
    const std::string entry = "PPid:\t" + std::to_string(parent) + "\n";
    std::size_t found = 0;
    for (const auto& folder : std::filesystem::directory_iterator("/proc"))
        found += read_file(folder.path() / "status").find(entry) != std::string::npos ? 1u : 0u;
    return found;
}

// Plays a rank that runs one task with temporary folders below `scratch`, until it is killed.
[[noreturn]] void play_rank(const std::string& scratch, const std::string& mark, const std::string& deed) {
    auto launcher = Launcher::start().or_throw();
    LauncherOptions options;
    options.slice = slice_of(1);
    options.shell = "/bin/sh";
    options.scratch = scratch;
    options.environment = {{"WQ_TEST_MARK", mark}};
    std::move(launcher->open(options)).or_throw();
    launcher->run(shell_line(1, deed));
    for (;;) {
        pollfd ready{launcher->descriptor(), POLLIN, 0};
        poll(&ready, 1, -1);
        launcher->next();
    }
}

// A rank as a child whose orphans become ours, so that all of them can be waited for.
class LauncherOfAKilledRank : public ::testing::Test {
  protected:
    LauncherOfAKilledRank() {
        EXPECT_EQ(mkfifo(begun.c_str(), 0600), 0);
        EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    }
    ~LauncherOfAKilledRank() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }

    pid_t start_rank(const std::string& deed) const {
        const pid_t rank = fork();
        if (rank == 0) play_rank(folder / "scratch", mark, deed);
        return rank;
    }
    static int wait_for_all() {
        int ended = 0;
        while (waitpid(-1, nullptr, 0) > 0) ++ended;
        return ended;
    }
    std::vector<std::string> scratch_folders() const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(folder / "scratch"))
            found.push_back(entry.path());
        return found;
    }

    Folder folder;
    const std::string mark = unique_name();
    const std::string begun = folder / "begun";
};

TEST_F(LauncherOfAKilledRank, LeavesNothing) {
    const pid_t rank =
        start_rank("setsid sleep 1000 & sh -c 'sleep 1000 & sleep 1000' & echo >" + begun + "; sleep 1000");
    read_file(begun);  // until the task has begun
    kill(rank, SIGKILL);
    EXPECT_GE(wait_for_all(), 2);  // rank, then zygote (and what it left, if it did)
    EXPECT_THAT(processes_with(mark), IsEmpty());
    EXPECT_THAT(scratch_folders(), IsEmpty());
}

// As a batch system kills at the end of a job: nobody is left to remove anything, until a later run comes.
TEST_F(LauncherOfAKilledRank, LeavesToALaterRunWhatItWasKilledWith) {
    const pid_t rank = start_rank("read a b c zygote rest </proc/$PPID/stat; echo $PPID $zygote $$ >" +
                                  begun + "; exec sleep 1000");
    std::stringstream family(read_file(begun));
    std::vector<pid_t> all{rank};
    for (pid_t process = 0; family >> process;) all.push_back(process);
    ASSERT_EQ(all.size(), 4u);
    // The zygote's other child clears up after earlier runs: it would take this one for such, were it the
    // last to live.
    while (children_of(all[2]) > 1) sched_yield();
    for (const pid_t process : all) {
        kill(process, SIGSTOP);
        while (read_file("/proc/" + std::to_string(process) + "/stat").find(") T ") == std::string::npos)
            sched_yield();
    }
    for (const pid_t process : all) kill(process, SIGKILL);
    wait_for_all();
    const auto abandoned = scratch_folders();
    ASSERT_EQ(abandoned.size(), 1u);

    Session session(1);
    const std::string sessions_own = std::exchange(session.options.scratch, folder / "scratch");
    session.open();
    while (std::filesystem::exists(abandoned[0])) sched_yield();
    EXPECT_EQ(scratch_folders().size(), 1u) << "the living launcher keeps its own";
    EXPECT_TRUE(session.run(shell_line(1, "touch $TMPDIR/mine")).outcome.succeeded());
    session.launcher->close(std::chrono::seconds(30));
    EXPECT_THAT(scratch_folders(), IsEmpty());
    std::filesystem::create_directory(sessions_own);  // where ~Session looks for what is left
}

TEST(LauncherDeath, NoDescriptorOfTheRankIsOpenInItsHelpers) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Session session(1);
    session.open();
    session.run(shell_line(1, "true"));
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 0) << "a helper holds the other end";
    close(ends[0]);
    EXPECT_EQ(session.run(shell_line(2, "for i in 0 1 2; do readlink /proc/$PPID/fd/$i; done")).output.out,
              "/dev/null\n/dev/null\n/dev/null\n");
}

TEST(LauncherDeath, CloseWithoutOpenEndsTheZygote) {
    auto launcher = Launcher::start().or_throw();
    launcher->close(std::chrono::seconds(30));
}

}  // namespace
}  // namespace wq::node::launcher::test

// The launcher as a program of its own, for who must not fork.
#include "node/launcher/zygote.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<Launcher> start_program() {
    return Launcher::start_program(WQ_LAUNCHER).or_throw();
}

TEST(LauncherProgram, RunsAndBeginsAnewWhenItIsKilled) {
    Session session(2, start_program());
    session.open();
    EXPECT_EQ(session.run(shell_line(1, "echo $WQ_TEST_MARK")).output.out, session.mark + "\n");
    session.launcher->run(shell_line(2, "kill -9 $PPID; sleep 1000"));
    session.collect_until([&] { return session.died.has_value(); });
    ASSERT_EQ(session.died->started.size(), 1u);
    session.died.reset();
    session.open();
    EXPECT_TRUE(session.run(shell_line(3, "true")).outcome.succeeded());
}

TEST(LauncherProgram, StartsBesideThreads) {
    std::atomic<bool> over{false};
    std::thread busy([&] {
        while (!over) delete new std::string(1000, 'x');
    });
    Session session(1, start_program());
    session.open();
    EXPECT_TRUE(session.run(shell_line(1, "true")).outcome.succeeded());
    over = true;
    busy.join();
}

TEST(LauncherProgram, HasNoDescriptorAndNoSessionOfOurs) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);  // inherited by what is executed
    Session session(1, start_program());
    session.open();
    const std::string sessions =
        "for p in $PPID $(cut -d' ' -f4 /proc/$PPID/stat); do cut -d' ' -f6 /proc/$p/stat; done";
    const std::string out = "\n" + session.run(shell_line(1, sessions)).output.out;
    EXPECT_THAT(out, testing::Not(HasSubstr("\n" + std::to_string(getsid(0)) + "\n")));
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 0) << "the launcher holds the other end";
    close(ends[0]);
}

TEST(LauncherProgram, EndsItsTasksWhenItsRankIsKilled) {
    const Folder folder;
    const std::string mark = unique_name();
    const std::string begun = folder / "begun";
    ASSERT_EQ(mkfifo(begun.c_str(), 0600), 0);
    const pid_t rank = fork();
    if (rank == 0) {
        auto launcher = start_program();
        LauncherOptions options;
        options.slice = slice_of(1);
        options.shell = "/bin/sh";
        options.scratch = folder / "scratch";
        options.environment = {{"WQ_TEST_MARK", mark}};
        std::move(launcher->open(options)).or_throw();
        launcher->run(shell_line(1, "setsid sleep 1000 & echo >" + begun + "; sleep 1000"));
        launcher->next();
        for (;;) pause();
    }
    read_file(begun);
    EXPECT_THAT(processes_with(mark), testing::Not(IsEmpty()));
    kill(rank, SIGKILL);
    waitpid(rank, nullptr, 0);
    while (!processes_with(mark).empty()) sched_yield();
    while (!std::filesystem::is_empty(folder / "scratch")) sched_yield();
}

TEST(LauncherProgram, AnythingElseIsRefused) {
    const auto none = Launcher::start_program("/nowhere/launcher");
    ASSERT_FALSE(none.ok());
    EXPECT_THAT(none.error().message, HasSubstr("'/nowhere/launcher' cannot be started: No such file"));
    const auto other = Launcher::start_program("/bin/true");
    ASSERT_FALSE(other.ok());
    EXPECT_THAT(other.error().message, HasSubstr("ended without an answer"));
}

TEST(LauncherProgram, WhatSaysNothingIsToldFromWhatHasEnded) {
    const Folder folder;
    const std::string mute = folder / "mute";
    std::ofstream(mute) << "#!/bin/sh\nexec sleep 1000\n";
    std::filesystem::permissions(mute, std::filesystem::perms::owner_all);
    const Descriptor memory(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const auto zygote = spawn_zygote(mute, memory.get(), std::chrono::milliseconds(50));
    ASSERT_FALSE(zygote.ok());
    EXPECT_THAT(zygote.error().message, HasSubstr("has not answered within 0.05"));
}

TEST(LauncherProgram, IsFoundByName) {
    const auto wanted = find_launcher_program(WQ_LAUNCHER);
    ASSERT_TRUE(wanted.ok());
    EXPECT_EQ(*wanted, WQ_LAUNCHER);
    const auto none = find_launcher_program("/nowhere/launcher");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ExitCode::usage);
    EXPECT_THAT(none.error().message, EndsWith("is the path of work_queue_launcher"));
}

// What is found where PATH begins with the prefix's bin/, in which the launcher is `place`.
Result<std::string> found_in(const Folder& prefix, const std::string& place) {
    std::filesystem::create_directories(std::filesystem::path(place).parent_path());
    std::filesystem::create_symlink(WQ_LAUNCHER, place);
    const std::string path = getenv("PATH");
    unsetenv("WORK_QUEUE_LAUNCHER");
    setenv("PATH", (prefix / "bin" + ":" + path).c_str(), 1);
    auto found = find_launcher_program("");
    setenv("PATH", path.c_str(), 1);
    return found;
}

TEST(LauncherProgram, IsFoundInAPrefixOfPath) {
    const Folder prefix;
    const std::string place = prefix / "libexec/work_queue/work_queue_launcher";
    const auto found = found_in(prefix, place);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, place);
}

TEST(LauncherProgram, IsNotTakenFromWhereEverybodyWrites) {
    const Folder prefix;
    const std::string place = prefix / "libexec/work_queue/work_queue_launcher";
    std::filesystem::permissions(prefix / "", std::filesystem::perms::others_all,
                                 std::filesystem::perm_options::add);
    const auto found = found_in(prefix, place);
    EXPECT_TRUE(!found.ok() || *found != place);
}

TEST(LauncherProgram, IsNoCommandForUsers) {
    EXPECT_EQ(system("exec '" WQ_LAUNCHER "' 2>/dev/null"), 64 << 8);
}

}  // namespace
}  // namespace wq::node::launcher::test

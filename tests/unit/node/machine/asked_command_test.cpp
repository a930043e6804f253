#include "node/machine/asked_command.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "support/folder.h"

namespace wq::node::machine {
namespace {

constexpr Duration patience = std::chrono::seconds(60);

// Signals that arrive all the time and interrupt system calls.
class Signals {
  public:
    Signals() {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        sigaction(SIGALRM, &action, &before_);
        const itimerval often{{0, 1000}, {0, 1000}};
        setitimer(ITIMER_REAL, &often, nullptr);
    }
    ~Signals() {
        const itimerval never{};
        setitimer(ITIMER_REAL, &never, nullptr);
        sigaction(SIGALRM, &before_, nullptr);
    }

  private:
    struct sigaction before_ {};
};

TEST(AskedCommand, ASignalEndsNoAnswer) {
    const Signals signals;
    EXPECT_EQ(AskedCommand({"sh", "-c", "echo first; sleep 0.1; echo last"}).answer(patience),
              "first\nlast\n");
}

TEST(AskedCommand, OneThatDoesNotEndInTimeSaysNothing) {
    EXPECT_EQ(AskedCommand({"sh", "-c", "echo first; exec sleep 1000"}).answer(std::chrono::milliseconds(1)),
              std::nullopt);
    EXPECT_EQ(AskedCommand({"no-command-of-this-name"}).answer(patience), std::nullopt);
}

TEST(AskedCommand, TellsHowItEnded) {
    const auto code = [](const char* line) {
        AskedCommand command({"sh", "-c", line}, AskedCommand::Errors::kept);
        const auto text = command.answer(patience);
        return text.value_or("nothing") + std::to_string(command.exit_code()) + command.errors();
    };
    EXPECT_EQ(code("echo said; echo wrong >&2; exit 3"), "said\n3wrong\n");
    EXPECT_EQ(code("exec >&- 2>&-; sleep 0.1; exit 4"), "4") << "it may close its output long before";
    EXPECT_EQ(code("kill -9 $$"), "137");
    EXPECT_EQ(code("seq 10000 >&2").size(), 1 + 4096u) << "its end";
    EXPECT_EQ(code("exec >&-; seq 100000 >&2; exit 5").substr(0, 1), "5") << "it may still have much to say";
    AskedCommand missing({"no-command-of-this-name"});
    missing.answer(patience);
    EXPECT_EQ(missing.exit_code(), 127);
}

TEST(AskedCommand, OneThatNeverStopsComplainingIsKeptShort) {
    AskedCommand command({"yes"}, AskedCommand::Errors::kept);
    AskedCommand complaining({"sh", "-c", "yes >&2; true"}, AskedCommand::Errors::kept);
    EXPECT_EQ(command.answer(patience), std::nullopt);
    EXPECT_EQ(complaining.answer(std::chrono::milliseconds(50)), std::nullopt);
    EXPECT_EQ(complaining.errors().size(), 4096U);
    EXPECT_FALSE(complaining.stopped());
}

// What it started must not go on, such as a submission that nobody waits for any more.
TEST(AskedCommand, ItsChildrenEndWithIt) {
    const test::Folder folder;
    const std::string name = folder / "pid";
    AskedCommand command({"sh", "-c", "sleep 1000 & echo $! >" + name + "; wait"});
    pid_t child = 0;
    while (!(std::ifstream(name) >> child)) sched_yield();
    EXPECT_EQ(command.answer(std::chrono::milliseconds(1)), std::nullopt);
    const auto runs = [&] {
        std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
        std::string number, called, state;
        return stat >> number >> called >> state && state != "Z";
    };
    while (runs()) sched_yield();
}

// A traced process can be waited for only after its tracer has seen its end, which never happens here.
TEST(AskedCommand, OneThatCannotBeKilledIsNotWaitedFor) {
    const test::Folder folder;
    const std::string name = folder / "pid";
    AskedCommand command({"sh", "-c", "echo $$ >" + name + "; exec sleep 1000"});
    pid_t asked = 0;
    while (!(std::ifstream(name) >> asked)) sched_yield();
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t tracer = fork();
    if (tracer == 0) {
        const char traces = ptrace(PTRACE_SEIZE, asked, nullptr, nullptr) == 0 ? 'y' : 'n';
        const bool told = write(ends[1], &traces, 1) == 1;
        while (told) pause();
        _exit(1);
    }
    char traces = 0;
    EXPECT_EQ(read(ends[0], &traces, 1), 1);
    std::optional<std::string> answer;
    if (traces == 'y') answer = command.answer(std::chrono::milliseconds(1));
    kill(tracer, SIGKILL);
    EXPECT_EQ(waitpid(tracer, nullptr, 0), tracer);
    close(ends[0]), close(ends[1]);
    if (traces != 'y') GTEST_SKIP() << "nobody may trace another process here";
    EXPECT_EQ(waitpid(asked, nullptr, 0), asked);
    EXPECT_EQ(answer, std::nullopt);
}

}  // namespace
}  // namespace wq::node::machine

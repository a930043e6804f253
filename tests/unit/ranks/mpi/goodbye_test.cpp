#include "ranks/mpi/guard.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <thread>

namespace wq::ranks::mpi {
namespace {

using namespace std::chrono_literals;

// The two ends of what hydra gives its processes as PMI_FD.
struct Hydra {
    Hydra() {
        ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
        ::setenv("PMI_FD", std::to_string(ends[0]).c_str(), 1);
    }
    ~Hydra() {
        ::unsetenv("PMI_FD");
        ::close(ends[0]);
        ::close(ends[1]);
    }
    std::array<int, 2> ends{};
};

TEST(Goodbye, HydraIsToldOnceAndAnswers) {
    Hydra hydra;
    std::string heard;
    std::thread proxy([&] {
        char buffer[64];
        const ssize_t bytes = ::read(hydra.ends[1], buffer, sizeof buffer);
        heard.assign(buffer, static_cast<std::size_t>(bytes));
        const std::string answer = "cmd=finalize_ack\n";
        EXPECT_EQ(::write(hydra.ends[1], answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    });
    EXPECT_TRUE(send_goodbye(ProcessManager::hydra));
    proxy.join();
    EXPECT_EQ(heard, "cmd=finalize\n");
}

TEST(Goodbye, AHydraThatIsSilentIsNotWaitedForLongerThanTheLimit) {
    Hydra hydra;
    EXPECT_FALSE(send_goodbye(ProcessManager::hydra, {.limit = 1ms}));
}

TEST(Goodbye, HydraIsToldToEndTheJobWithTheCode) {
    Hydra hydra;
    EXPECT_TRUE(abort_job(ProcessManager::hydra, 75));
    char heard[64];
    const ssize_t bytes = ::read(hydra.ends[1], heard, sizeof heard);
    EXPECT_EQ(std::string(heard, static_cast<std::size_t>(bytes)), "cmd=abort exitcode=75\n");
}

TEST(Goodbye, WithoutItsVariableThereIsNobody) {
    EXPECT_FALSE(send_goodbye(ProcessManager::hydra));
}

TEST(Goodbye, WithoutAManagerThereIsNothingToSay) {
    EXPECT_TRUE(send_goodbye(ProcessManager::none));
}

TEST(Guard, AloneTheRankRunsInThisProcessAndReturnsItsCode) {
    const pid_t self = ::getpid();
    const int code = run_guarded(LaunchEnvironment{}, [self](GuardLink& link) {
        link.mpi_starting();
        link.mpi_ready(0);
        return ::getpid() == self ? 42 : 1;
    });
    EXPECT_EQ(code, 42);
}

// Each SliceQueue of a program tells the guard twice; a pipe was full after 4,096 of them.
TEST(Guard, ARankTellsItsGuardAnyNumberOfTimes) {
    LaunchEnvironment launched;
    launched.launched = true;
    launched.manager = ProcessManager::none;
    launched.ends_job_at_failure = true;
    const pid_t job = ::fork();
    if (job == 0) {
        ::alarm(60);
        ::_exit(run_guarded(launched, [](GuardLink& link) {
            for (int queue = 0; queue < 10'000; ++queue) link.mpi_starting(), link.mpi_ready(0);
            return 42;
        }));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(job, &status, 0), job);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace wq::ranks::mpi

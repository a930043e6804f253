#include "manager/run/job_end.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace wq::manager::run {
namespace {

// A process that blocks the stop signals as a rank does, and does `then` once it watches for them.
struct Child {
    template <class Then>
    explicit Child(Then then) {
        std::array<int, 2> ready{};
        if (::pipe(ready.data()) != 0) throw std::runtime_error("pipe");
        pid = ::fork();
        if (pid == 0) {
            Signals signals = Signals::block().or_throw();
            EarlyStop early(signals, "");
            then(signals, early, ready[1]);
            ::_exit(0);
        }
        ::close(ready[1]);
        char word;
        if (::read(ready[0], &word, 1) != 1) ADD_FAILURE() << "it did not begin";
        ::close(ready[0]);
    }
    int end() const {
        int status = 0;
        ::waitpid(pid, &status, 0);
        return status;
    }
    pid_t pid;
};

TEST(EarlyStop, ASignalBeforeTheLoopEndsTheProcess) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
        const Child child([](const Signals&, EarlyStop&, int ready) {
            [[maybe_unused]] const auto told = ::write(ready, "r", 1);
            for (;;) ::pause();
        });
        ::kill(child.pid, number);
        const int status = child.end();
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 75) << number;
    }
}

TEST(EarlyStop, AfterItsEndSignalsAreTheLoops) {
    const Child child([](Signals& signals, EarlyStop& early, int ready) {
        early.end();
        ::raise(SIGTERM);
        [[maybe_unused]] const auto told = ::write(ready, "r", 1);
        ::_exit(signals.next() == SIGTERM ? 3 : 4);
    });
    const int status = child.end();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

}  // namespace
}  // namespace wq::manager::run

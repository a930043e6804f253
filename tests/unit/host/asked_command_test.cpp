#include "host/asked_command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

namespace wq::host {
namespace {

constexpr Duration patience = std::chrono::seconds(60);

// That come all the time, and have a system call end that waits.
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

}  // namespace
}  // namespace wq::host

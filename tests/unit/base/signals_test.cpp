#include "base/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace wq {
namespace {

// The program's mask and dispositions are as before after each test.
class SignalsTest : public ::testing::Test {
  protected:
    SignalsTest() { ::sigprocmask(SIG_BLOCK, nullptr, &before_); }
    ~SignalsTest() override {
        ::sigprocmask(SIG_SETMASK, &before_, nullptr);
        for (const int number : {SIGINT, SIGHUP}) ::signal(number, SIG_DFL);
    }

  private:
    sigset_t before_{};
};

TEST_F(SignalsTest, AreReadOneByOne) {
    auto signals = Signals::block().or_throw();
    EXPECT_EQ(signals.next(), std::nullopt);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
        EXPECT_TRUE(Signals::stops(number));
        ::kill(::getpid(), number);
        EXPECT_EQ(signals.next(), number);
    }
    EXPECT_EQ(signals.next(), std::nullopt);
}

TEST_F(SignalsTest, NohupIsHeeded) {
    ::signal(SIGHUP, SIG_IGN);
    auto signals = Signals::block().or_throw();
    ::kill(::getpid(), SIGHUP);
    EXPECT_EQ(signals.next(), std::nullopt);
    ::kill(::getpid(), SIGTERM);
    EXPECT_EQ(signals.next(), SIGTERM);
}

TEST_F(SignalsTest, AnInterruptReachesWhatAScriptStartedInTheBackground) {
    ::signal(SIGINT, SIG_IGN);
    auto signals = Signals::block().or_throw();
    ::kill(::getpid(), SIGINT);
    EXPECT_EQ(signals.next(), SIGINT);
}

}  // namespace
}  // namespace wq

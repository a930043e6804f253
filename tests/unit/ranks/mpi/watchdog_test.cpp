#include "ranks/mpi/watchdog.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <future>
#include <thread>

namespace wq::ranks::mpi {
namespace {

using namespace std::chrono_literals;

TEST(Watchdog, BitesWhoIsLateAndStandsDownForOthers) {
    std::promise<void> bitten;
    bool harmless = true;
    {
        const Watchdog patient(1h, [&] { harmless = false; });
        const Watchdog watchdog(1ms, [&] { bitten.set_value(); });
        bitten.get_future().wait();
    }
    EXPECT_TRUE(harmless);
}

// Until it goes, no thread can be started: none gets so large a stack.
class NoThreads {
  public:
    NoThreads() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t large;
        pthread_attr_init(&large);
        pthread_attr_setstacksize(&large, std::size_t{1} << 50);
        pthread_setattr_default_np(&large);
        pthread_attr_destroy(&large);
    }
    ~NoThreads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }

  private:
    pthread_attr_t before_;
};

TEST(Watchdog, BitesAgainUntilItIsDestroyed) {
    std::atomic<int> bites{0};
    {
        const Watchdog watchdog(
            1ms, [&] { ++bites; }, Watchdog::Repeats::yes);
        while (bites < 3) std::this_thread::yield();
    }
    const int last = bites;
    std::this_thread::yield();
    EXPECT_EQ(bites, last);
}

TEST(Watchdog, WhereNoThreadCanBeHadNobodyWatches) {
    const NoThreads none;
    EXPECT_THROW(std::thread([] {}).join(), std::system_error);
    EXPECT_NO_THROW(Watchdog(1h, [] {}));
}

}  // namespace
}  // namespace wq::ranks::mpi

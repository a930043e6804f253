#include "base/fork_gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace wq {
namespace {

// std::mutex may be tried in a child of fork() only because nobody holds it.
TEST(ForkGate, AChildFindsLocksOpen) {
    std::mutex of_library;
    std::atomic<bool> ends{false};
    std::atomic<int> busy{0};
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n)
        threads.emplace_back([&] {
            bool first = true;
            while (!ends) {
                const NoFork held;
                const std::lock_guard used(of_library);
                if (std::exchange(first, false)) ++busy;
                std::this_thread::yield();
            }
        });
    while (busy < 3) std::this_thread::yield();
    int open = 0;
    for (int n = 0; n < 50; ++n) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const NoFork held;  // of a process of its own
            ::_exit(of_library.try_lock() ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        open += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    ends = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(open, 50);
}

}  // namespace
}  // namespace wq

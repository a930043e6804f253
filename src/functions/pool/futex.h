// A bell in shared memory: one process or thread sleeps until another rings. Ringing costs a system call only
// while somebody sleeps.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace wq::functions::pool {

// Waits for a few microseconds by giving others the core. One of them is mostly what we wait for: then this
// costs a switch, instead of two system calls and an interrupt on each side. But if another program has the
// core then, we are better off asleep, since the kernel runs sleepers first: so a while without yields
// follows.
class Yields {
  public:
    template <class Ready>
    bool until(Ready&& ready) {
        const int skips = skips_.load(std::memory_order_relaxed);
        if (skips > 0) {
            skips_.store(skips - 1, std::memory_order_relaxed);
            return false;
        }
        using Clock = std::chrono::steady_clock;
        Clock::time_point before = Clock::now();
        for (int turn = 0; turn < most_turns; ++turn) {
            sched_yield();
            if (ready()) return true;
            const Clock::time_point now = Clock::now();
            if (now - before > longest_turn) {
                skips_.store(most_skips, std::memory_order_relaxed);
                return false;
            }
            before = now;
        }
        return false;
    }

  private:
    static constexpr int most_turns = 10;
    static constexpr int most_skips = 100;
    static constexpr std::chrono::microseconds longest_turn{100};
    std::atomic<int> skips_{0};
};

class Bell {
  public:
    // Call after the change that the sleeper waits for, which must be a sequentially consistent store.
    void ring() {
        if (sleeps_.load(std::memory_order_seq_cst) == 0) return;
        rings_.fetch_add(1, std::memory_order_seq_cst);
        syscall(SYS_futex, word(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }

    // Sleeps until `ready()`, which loads what the others store sequentially consistently, too. One sleeper
    // at a time.
    template <class Ready>
    void wait(Ready&& ready, Yields& yields) {
        for (int turn = 0; turn < spins; ++turn)
            if (ready()) return;
        if (yields.until(ready)) return;
        for (;;) {
            const std::uint32_t seen = rings_.load(std::memory_order_seq_cst);
            sleeps_.store(1, std::memory_order_seq_cst);
            const bool is_ready = ready();
            if (!is_ready) syscall(SYS_futex, word(), FUTEX_WAIT, seen, nullptr, nullptr, 0);
            sleeps_.store(0, std::memory_order_seq_cst);
            if (is_ready || ready()) return;
        }
    }

  private:
    static constexpr int spins = 50;
    std::uint32_t* word() { return reinterpret_cast<std::uint32_t*>(&rings_); }

    alignas(64) std::atomic<std::uint32_t> rings_{0};
    std::atomic<std::uint32_t> sleeps_{0};
};

}  // namespace wq::functions::pool

// A bell in shared memory: one process or thread sleeps until another rings. Ringing costs a system call only
// while somebody sleeps.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace wq::executor {

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
    void wait(Ready&& ready) {
        for (int turn = 0; turn < spins; ++turn)
            if (ready()) return;
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

}  // namespace wq::executor

#include "manager/run/mpi_settle.h"

#include "manager/run/rank_loop.h"

namespace wq::manager::run {

namespace {
constexpr Duration limit_after_a_loss = std::chrono::seconds(10);
constexpr Duration limit_of_silence = std::chrono::minutes(1);
}  // namespace

bool settle(ranks::mpi::MpiTransport& ranks, bool well, const std::function<void()>& waits) {
    Waiter waiter;
    const Instant began = instant_now();
    const BackOff back_off(began);
    Instant speak_at = began + limit_of_silence;
    ranks.settle(well);
    for (;;) {
        if (const auto settled = ranks.settled()) return *settled;
        const Instant now = instant_now();
        if (!well && now - began >= limit_after_a_loss) return false;
        if (now >= speak_at) {
            waits();
            speak_at = Instant::max();
        }
        waiter.wait(back_off.pause(now));
    }
}

}  // namespace wq::manager::run

#include "app/mpi_settle.h"

#include "app/loop.h"

namespace wq::app {

namespace {
constexpr Duration limit_after_a_loss = std::chrono::seconds(10);
constexpr Duration limit_of_silence = std::chrono::minutes(1);
}  // namespace

bool settle(transport::MpiTransport& ranks, bool well, const std::function<void()>& waits) {
    BackOff back_off;
    Waiter waiter;
    const Instant began = instant_now();
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
        waiter.wait(back_off.next());
    }
}

}  // namespace wq::app

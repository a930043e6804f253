// Allocation failures on the socket threads, at each single allocation: both ends must learn of each other or
// of the end of their connection, and nobody may wait forever.
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tcp_ends.h"

#if !defined(WQ_SANITIZED_ADDRESS) && !defined(WQ_SANITIZED_THREAD)

namespace {

// Counts down on all threads except the tests' own; at 1 one allocation fails.
constexpr int far_off = 1'000'000'000;
std::atomic<int> until_failure{far_off};
thread_local bool is_spared = false;

bool fails_now() {
    return !is_spared && until_failure.fetch_sub(1, std::memory_order_relaxed) == 1;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    void* const memory = fails_now() ? nullptr : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;

// For one process, whose n-th allocation on socket threads fails; or it has fewer.
enum Found { fine = 0, not_reached = 1, waits_for_ever = 2, out_of_order = 3 };

bool is_in_order(const std::vector<Arrival>& arrivals) {
    bool joined = false, left = false;
    for (const Arrival& arrival : arrivals) {
        if (left) return false;
        left = std::holds_alternative<Left>(arrival);
        if (std::holds_alternative<Joined>(arrival) && std::exchange(joined, true)) return false;
        if (std::holds_alternative<Frame>(arrival) && !joined) return false;
    }
    return true;
}

int found_in_child(const std::function<Found()>& run) {
    const pid_t pid = fork();
    if (pid == 0) {
        is_spared = true;
        _exit(run());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Found joining_with_failure(int nth) {
    Manager manager = listen();
    until_failure = nth;
    TcpDialOptions options = to_port(manager->port());
    options.limits.handshake = options.connect = 500ms;
    Worker worker = dial(options);
    if (!worker.await([&] { return !worker.arrivals.empty(); })) return waits_for_ever;
    const bool reached = until_failure.exchange(far_off) < 1;
    if (!worker.all<Joined>().empty()) {
        worker->send(TcpDialer::manager, "frame");
        const auto arrived_or_left = [&] {
            std::vector<Arrival> more;
            worker->poll(more);
            worker.arrivals.insert(worker.arrivals.end(), more.begin(), more.end());
            return !manager.all<Frame>().empty() || !worker.all<Left>().empty();
        };
        if (!manager.await(arrived_or_left)) return waits_for_ever;
    }
    if (!is_in_order(worker.arrivals)) return out_of_order;
    return reached ? fine : not_reached;
}

Found talking_with_failure(int nth) {
    constexpr std::size_t count = 300;
    TcpListenOptions options = on_loopback();
    options.limits.keep_alive = 40ms;  // the clock ticks four times as often
    Manager manager = listen(std::move(options));
    Worker worker = dial(to_port(manager->port()));
    if (!worker.await_count<Joined>(1) || !manager.await_count<Joined>(1)) return waits_for_ever;
    until_failure = nth;
    for (std::size_t n = 0; n < count; ++n) worker->send(TcpDialer::manager, std::string(1000, 'x'));
    const bool ended =
        manager.await([&] { return manager.all<Frame>().size() == count || !manager.all<Left>().empty(); });
    const bool reached = until_failure.exchange(far_off) < 1;
    if (!ended) return waits_for_ever;
    if (!is_in_order(manager.arrivals)) return out_of_order;
    return reached ? fine : not_reached;
}

void fail_each(const std::function<Found(int)>& run, int most) {
    int reached = 0;
    for (int nth = 1; nth <= most; ++nth) {
        const int found = found_in_child([&] { return run(nth); });
        EXPECT_TRUE(found == fine || found == not_reached) << "allocation " << nth << ": " << found;
        if (found == fine) ++reached;
    }
    EXPECT_GT(reached, most / 2);
}

TEST(TcpMemory, WhoJoinsWhileItRunsOutIsToldOfOneEndOrTheOther) {
    fail_each(joining_with_failure, 60);
}

TEST(TcpMemory, FramesArriveOrTheirLinkEnds) {
    fail_each(talking_with_failure, 30);
}

// Its sender is notified, and none of it is left to be sent.
Found too_long_with_failure(int nth) {
    TcpListenOptions options = on_loopback();
    options.limits.keep_alive = 40ms;
    options.limits.most_frame_bytes = 10'000;
    Manager manager = listen(std::move(options));
    Worker worker = dial(to_port(manager->port()));
    if (!worker.await_count<Joined>(1) || !manager.await_count<Joined>(1)) return waits_for_ever;
    until_failure = nth;
    manager->send(manager.first_peer(), std::string(10'001, 'x'));
    const bool ended = manager.await([&] { return !manager.all<Left>().empty() && manager->idle(); });
    const bool reached = until_failure.exchange(far_off) < 1;
    if (!ended) return waits_for_ever;
    return reached ? fine : not_reached;
}

TEST(TcpMemory, AFrameThatIsTooLongToSendIsCountedOnce) {
    fail_each(too_long_with_failure, 6);
}

}  // namespace
}  // namespace wq::net::frames

#endif

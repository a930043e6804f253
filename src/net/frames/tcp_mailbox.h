// The exchange between the caller's thread and the socket thread: whole vectors, each way under one short
// lock, and a Wake on which the caller waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/descriptor.h"
#include "net/frames/transport.h"

namespace wq::net::frames {

// The memory of undelivered frames: many small ones cost as much as a few large ones.
inline std::size_t cost_of(const std::vector<std::string>& frames) {
    std::size_t bytes = frames.size() * sizeof(Arrival);
    for (const std::string& frame : frames) bytes += frame.size();
    return bytes;
}

struct TcpOrder {
    enum class What { send, admit, hold_back, go_on, close } what = What::send;
    PeerId peer;
    std::string frame;
};

class TcpMailbox {
  public:
    // `wake` is called on the caller's thread when the socket thread has something to do.
    explicit TcpMailbox(std::function<void()> wake);
    TcpMailbox(const TcpMailbox&) = delete;
    TcpMailbox& operator=(const TcpMailbox&) = delete;

    // ---- the caller's thread ----
    void send(PeerId peer, std::string frame);
    void admit(PeerId peer);
    void hold_back(PeerId peer, bool on);
    void close(PeerId peer);
    bool take(std::vector<Arrival>& inbox);
    bool idle() const { return unsent_.load(std::memory_order_acquire) == 0; }
    int descriptor() const { return event_.descriptor(); }
    void expect_until(Instant until) { expects_until_.store(until, std::memory_order_relaxed); }

    // ---- the socket thread ----
    void deliver(Arrival arrival);
    // All frames of one read. Returns a number that grows with each take() of the caller.
    std::uint64_t deliver(PeerId peer, std::vector<std::string>& frames, bool close_by);
    void closed(PeerId peer);  // close() was executed: nothing more arrives from the peer
    void take_orders(std::vector<TcpOrder>& orders);
    void wake_when_taken();              // wakes the socket thread at the caller's next take()
    bool awaits_taking() const;          // and the caller has not taken since
    void left(std::size_t frame_bytes);  // a frame was sent or dropped
    bool expects(Instant now) const { return now < expects_until_.load(std::memory_order_relaxed); }
    std::uint64_t undelivered() const { return undelivered_.load(std::memory_order_relaxed); }

  private:
    void order(TcpOrder order);

    const std::function<void()> wake_;
    Wake event_;                            // for the caller
    std::atomic<std::uint64_t> unsent_{0};  // bytes, plus one per frame
    std::atomic<std::uint64_t> undelivered_{0};
    std::atomic<Instant> expects_until_{Instant{}};

    mutable std::mutex mutex_;
    std::vector<TcpOrder> orders_;
    bool woken_ = false;
    std::vector<Arrival> arrivals_;
    std::vector<PeerId> closed_;
    std::uint64_t takes_ = 0;
    bool wake_when_taken_ = false;

    std::unordered_set<PeerId> closing_;  // on the caller's side: their remaining arrivals are dropped
};

}  // namespace wq::net::frames

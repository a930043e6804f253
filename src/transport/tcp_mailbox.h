// What passes between the caller's thread and the thread of the sockets: whole vectors, each way under one
// short lock, and an eventfd for the caller to wait on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "transport/transport.h"

namespace wq::transport {

// What an undelivered frame costs in memory: many small ones are no less than a few large ones.
inline std::size_t cost_of(const std::vector<std::string>& frames) {
    std::size_t bytes = frames.size() * sizeof(Arrival);
    for (const std::string& frame : frames) bytes += frame.size();
    return bytes;
}

struct TcpOrder {
    enum class What { send, admit, close } what = What::send;
    PeerId peer;
    std::string frame;
};

class TcpMailbox {
  public:
    // `wake` is called from the caller's thread when the other one has something to do.
    explicit TcpMailbox(std::function<void()> wake);
    ~TcpMailbox();
    TcpMailbox(const TcpMailbox&) = delete;
    TcpMailbox& operator=(const TcpMailbox&) = delete;

    // ---- the caller's thread ----
    void send(PeerId peer, std::string frame);
    void admit(PeerId peer);
    void close(PeerId peer);
    bool take(std::vector<Arrival>& inbox);
    bool idle() const { return unsent_.load(std::memory_order_acquire) == 0; }
    int descriptor() const { return event_; }

    // ---- the sockets' thread ----
    void deliver(Arrival arrival);
    // All frames of one read. Returns a number that grows each time the caller takes what is there.
    std::uint64_t deliver(PeerId peer, std::vector<std::string>& frames);
    void closed(PeerId peer);  // close() was heeded: nothing of it comes any more
    void take_orders(std::vector<TcpOrder>& orders);
    void wake_when_taken();              // somebody waits for the caller to take()
    bool awaits_taking() const;          // as it has not done since
    void left(std::size_t frame_bytes);  // a frame is on its way, or dropped
    std::uint64_t undelivered() const { return undelivered_.load(std::memory_order_relaxed); }

  private:
    void order(TcpOrder order);
    void signal();

    const std::function<void()> wake_;
    int event_ = -1;
    std::atomic<std::uint64_t> unsent_{0};  // bytes, one more for each frame
    std::atomic<std::uint64_t> undelivered_{0};

    mutable std::mutex mutex_;
    std::vector<TcpOrder> orders_;
    bool woken_ = false;
    std::vector<Arrival> arrivals_;
    std::vector<PeerId> closed_;
    std::uint64_t takes_ = 0;
    bool wake_when_taken_ = false;

    std::unordered_set<PeerId> closing_;  // the caller's: what still arrives of them is dropped
};

}  // namespace wq::transport

// A network within one process. Without faults it connects rank 0's manager and rank 0's own worker; with
// faults it is the network of the simulation tests. It is deterministic: equal seeds and calls give equal
// arrivals. Time passes only in advance().
//
// The guarantees of transport.h hold in every mode, except for two faults that break them on purpose:
// `duplicate` and `reorder`. An ended connection never returns: a reconnecting peer is a new one (add()).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/frames/transport.h"

namespace wq::net::frames {

// Probabilities per frame, 0 to 1. All zero: no faults.
struct LoopbackFaults {
    double cut = 0;        // the connection ends with this frame, which is lost with some of those in flight
    double duplicate = 0;  // the frame arrives twice
    double delay = 0;      // the frame and all that follow arrive up to `most_delay` later
    double reorder = 0;    // the frame overtakes the one before it
    Duration most_delay{0};
};

struct LoopbackCounts {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;  // duplicates included
    std::uint64_t lost = 0;       // sent to nobody, lost with a connection, or dropped by close()
    std::uint64_t cuts = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;
};

class LoopbackNetwork {
  public:
    explicit LoopbackNetwork(std::uint32_t peers, std::uint64_t seed = 0, LoopbackFaults faults = {});

    PeerId add();  // a new peer, not yet connected

    // A peer's transport; PeerIds are those of this network, which must outlive it.
    std::unique_ptr<Transport> endpoint(PeerId self);

    // Both ends see Joined. False if they are or were connected.
    bool connect(PeerId a, PeerId b);

    // Both ends see Left, after a random part (by the seed) of the frames in flight to them.
    void cut(PeerId a, PeerId b, const std::string& why) { cut(a, b, why, Cut::broken); }

    // The peer dies: its connections are closed and its own endpoint sees nothing more.
    void crash(PeerId peer, const std::string& why);

    // The peer dies like an MPI rank on another host: frames to it vanish and nobody is notified.
    void silence(PeerId peer);

    void advance(Duration by) { now_ += by; }
    Instant now() const { return now_; }
    std::optional<Instant> next_arrival() const;  // for any peer; nullopt: nothing in flight
    const LoopbackCounts& counts() const { return counts_; }

  private:
    friend class LoopbackEndpoint;
    struct Item {
        Instant due;
        Arrival arrival;
    };
    struct Peer {
        std::deque<Item> inbox;  // by due time; items of one source keep their order
        bool silent = false;
    };
    // One direction of a connection.
    struct Line {
        bool open = false;
        Instant last_due;
    };

    void send(PeerId from, PeerId to, std::string frame);
    bool receive(PeerId self, std::vector<Arrival>& inbox);
    void close(PeerId self, PeerId peer);
    enum class Cut : std::uint8_t { broken, closed };
    void cut(PeerId a, PeerId b, const std::string& why, Cut how);

    Line* open_line(PeerId from, PeerId to);
    void deliver(PeerId from, PeerId to, Arrival arrival, Duration later);
    // What becomes of frames that are on the way.
    enum class OnTheWay : std::uint8_t { arrive, may_be_lost };
    void end_line(PeerId from, PeerId to, Left last, OnTheWay frames);
    bool overtake(PeerId from, PeerId to, std::string& frame);
    void discard_from(PeerId from, PeerId to, std::size_t keep);
    bool happens(double chance);
    Duration some_delay();

    Instant now_{};
    LoopbackFaults faults_;
    LoopbackCounts counts_;
    std::mt19937_64 random_;
    std::vector<Peer> peers_;
    std::map<std::pair<PeerId, PeerId>, Line> lines_;
};

// A connection within this process between two threads: the manager and the worker beside it. Unlike the
// loopback, each end has a descriptor that wakes its thread.

// Each end has one peer, PeerId(0), which has joined from the start; `names` are the addresses that the other
// end sees. When an end is destroyed, the other sees Left. Error (unreachable): no descriptor is left.
struct TransportPair {
    std::unique_ptr<Transport> first;
    std::unique_ptr<Transport> second;
};
Result<TransportPair> open_transport_pair(std::string name_of_first, std::string name_of_second);

}  // namespace wq::net::frames

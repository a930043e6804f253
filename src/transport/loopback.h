// A network inside one process. Clean, it carries the frames between rank 0's manager and rank 0's own
// worker; with faults it is the weather of the simulation tests. It is deterministic: equal seed and equal
// calls give equal arrivals. Time stands still until advance() moves it.
//
// Promises of transport.h hold in every mode, but for two faults that exist to break them on purpose:
// `duplicate` and `reorder`. A connection that ended never comes back: who reconnects is a new peer (add()).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace wq::transport {

// Chances per frame, 0 to 1. All zero is the clean mode.
struct LoopbackFaults {
    double cut = 0;        // the connection ends with this frame: it, and part of what is under way, is lost
    double duplicate = 0;  // the frame arrives twice
    double delay = 0;      // the frame, and with it all that follow, arrives up to `most_delay` later
    double reorder = 0;    // the frame overtakes the one before it
    Duration most_delay{0};
};

struct LoopbackCounts {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;  // duplicates included
    std::uint64_t lost = 0;       // sent to nobody, cut off, or thrown away by close()
    std::uint64_t cuts = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;
};

class LoopbackNetwork {
  public:
    explicit LoopbackNetwork(std::uint32_t peers, std::uint64_t seed = 0, LoopbackFaults faults = {});

    PeerId add();  // one more peer, not yet connected to any

    // The transport of one peer; its peers carry the numbers of this network. The network must outlive it.
    std::unique_ptr<Transport> endpoint(PeerId self);

    // Both ends see Joined. False when they are or once were connected.
    bool connect(PeerId a, PeerId b);

    // Both ends see Left, after a seeded part of what was under way to them.
    void cut(PeerId a, PeerId b, const std::string& why);

    // The peer dies: its connections are cut and its own endpoint sees nothing more.
    void crash(PeerId peer, const std::string& why);

    // The peer dies as an MPI rank on another host does: frames to it vanish and nobody is told.
    void silence(PeerId peer);

    void advance(Duration by) { now_ += by; }
    Instant now() const { return now_; }
    std::optional<Instant> next_arrival() const;  // of any peer; none: nothing is under way
    const LoopbackCounts& counts() const { return counts_; }

  private:
    friend class LoopbackEndpoint;
    struct Item {
        Instant due;
        Arrival arrival;
    };
    struct Peer {
        std::deque<Item> inbox;  // by due time; what one source sent stays in its order
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

    Line* open_line(PeerId from, PeerId to);
    void put(PeerId from, PeerId to, Arrival arrival, Duration later);
    void end_line(PeerId from, PeerId to, const std::string& why, bool lose_some);
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

}  // namespace wq::transport

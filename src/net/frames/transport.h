// The common interface of all transports: frames to and from peers. TCP, MPI and the in-process loopback look
// the same. A frame is bytes without meaning here.
//
// Guarantees: frames of one peer arrive in order, complete and once, or not at all after its Left. After Left
// nothing arrives from that peer. send() neither blocks nor reports errors: frames to a lost peer are
// dropped, and its Left says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace wq::net::frames {

// For MPI a peer is a rank.
using PeerId = Id<struct PeerTag, std::uint32_t>;

struct Joined {
    PeerId peer;
    std::string address;  // "node3:rank 5", "10.0.0.7:40112": for messages
    // It asks in plain text (http_request.h). Its frames are its question, then an empty one each time that
    // it has taken what was sent, which is no frame, but bytes.
    bool asks_plainly = false;
};
struct Frame {
    PeerId peer;
    std::string bytes;
    bool close_by = false;  // both processes are on this machine
};
struct Left {
    PeerId peer;
    std::string why;      // one line, for messages
    bool closed = false;  // the peer closed the connection; false: it was reset, or went silent
};
using Arrival = std::variant<Joined, Frame, Left>;

// A connection event for the debug log: subsystem "tcp", or "auth" if it concerns who may connect and how.
struct Note {
    std::string_view subsystem;
    std::string text;
    bool refusal = false;  // a worker is not allowed to join
};

// When a peer was last heard. `as_of`: when that was checked; a second ago, or longer if we were paused or do
// not read.
struct Heard {
    Instant at{};
    Instant as_of{};
};

class Transport {
  public:
    virtual ~Transport() = default;

    virtual void send(PeerId peer, std::string frame) = 0;

    // Sends and receives what is possible without waiting, and appends arrivals. Returns whether anything
    // moved in either direction: the caller then resets its back-off.
    virtual bool poll(std::vector<Arrival>& inbox) = 0;

    // The caller knows who this peer is and accepts frames of any size from it. Until then the frames of a
    // peer that connected by itself are limited (TcpLimits); other transports ignore this.
    virtual void admit(PeerId) {}

    // The caller has enough frames of this peer for now: they wait, soon also at the peer, until `on` is
    // false. Those on their way here still arrive.
    virtual void hold_back(PeerId, bool /*on*/) {}

    // Events since the last call; the list is bounded, the rest is only counted.
    virtual std::vector<Note> take_notes() { return {}; }

    // Frames are likely to arrive until then: a transport with its own thread does not sleep meanwhile.
    virtual void expect_until(Instant) {}

    // Ends the connection; no Left follows.
    virtual void close(PeerId peer) = 0;

    // Whether no frame waits to leave this process: check it before a deliberate exit.
    virtual bool idle() const = 0;

    // Descriptors that are readable when poll() has something to do.
    virtual std::vector<int> descriptors() const = 0;

    // Whether frames may arrive without a readable descriptor: then call poll() with a back-off (see
    // manager/run/rank_loop.h). MPI's descriptor only reports ranks that have ended.
    virtual bool wants_asking() const { return descriptors().empty(); }
};

}  // namespace wq::net::frames

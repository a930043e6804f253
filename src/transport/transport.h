// The one view of every wire: frames to and from peers. TCP, MPI and the in-process loopback look the same
// from here. A transport knows no meaning: a frame is bytes.
//
// Guarantees: frames of one peer arrive in order, whole and once, or not at all after its Left. After Left
// nothing of that peer arrives any more. send() never blocks and never fails loudly: frames to a peer that is
// gone are dropped, and its Left says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace wq::transport {

// For MPI a peer is a rank.
using PeerId = Id<struct PeerTag, std::uint32_t>;

struct Joined {
    PeerId peer;
    std::string address;  // "node3:rank 5", "10.0.0.7:40112": for messages
};
struct Frame {
    PeerId peer;
    std::string bytes;
};
struct Left {
    PeerId peer;
    std::string why;  // one line, for messages
};
using Arrival = std::variant<Joined, Frame, Left>;

// One line of what happened to a connection: of the debug log's subsystem "tcp", or "auth" where it is about
// who may come in and by which means.
struct Note {
    std::string_view subsystem;
    std::string text;
};

// When a peer was heard last. `as_of`: when that was looked at; a second ago, or more where we ourselves
// stood still or do not read.
struct Heard {
    Instant at{};
    Instant as_of{};
};

class Transport {
  public:
    virtual ~Transport() = default;

    virtual void send(PeerId peer, std::string frame) = 0;

    // Moves what can be moved without waiting and appends what has arrived. Returns whether anything moved,
    // either way: the caller's back-off starts anew when it did.
    virtual bool poll(std::vector<Arrival>& inbox) = 0;

    // The caller knows who this peer is, and takes frames of any size from it. Until then those of a stranger
    // that came by itself are small (TcpLimits); where nobody comes by himself this is nothing.
    virtual void admit(PeerId) {}

    // What came since the last call; without a taker it is bounded, and the rest counted.
    virtual std::vector<Note> take_notes() { return {}; }

    // Ends the talk with a peer; no Left follows.
    virtual void close(PeerId peer) = 0;

    // Whether frames wait to leave this process: before a deliberate exit they should not.
    virtual bool idle() const = 0;

    // Descriptors whose readability means that poll() has something to do.
    virtual std::vector<int> descriptors() const = 0;

    // Whether frames come without any of them being readable: poll() is to be called on a back-off (see
    // app/loop.h). MPI's descriptor tells of ranks that have ended, and of nothing else.
    virtual bool wants_asking() const { return descriptors().empty(); }
};

}  // namespace wq::transport

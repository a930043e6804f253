// The ranks of an MPI job as a Transport: a peer is a rank. MPI itself never tells of a lost rank, so a Left
// comes only for ranks of this node (their processes are watched); for the others the caller misses their
// beats and says close(). All ranks are told as Joined by the first poll().
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "transport/mpi_session.h"
#include "transport/transport.h"

namespace wq::transport {

struct MpiTransportOptions {
    std::size_t receives = 64;           // posted ahead
    std::size_t most_outstanding = 256;  // fragments per rank that MPI holds at a time
    bool watch_node_mates = true;
};

struct MpiTransportCounts {
    std::uint64_t frames_sent = 0;
    std::uint64_t frames_received = 0;
    std::uint64_t fragments_sent = 0;
    std::uint64_t fragments_received = 0;
    std::uint64_t abandoned_sends = 0;  // buffers left to MPI because their rank is gone
    std::uint64_t stuck_receives = 0;
    std::uint64_t errors = 0;   // calls that MPI answered with an error
    std::uint64_t watched = 0;  // node-mates whose end will be told at once
};

class MpiTransport : public Transport {
  public:
    // Collective. The session must outlive the transport and must have MPI; it is told of ranks that are
    // lost.
    static Result<std::unique_ptr<MpiTransport>> open(MpiSession& session,
                                                      const MpiTransportOptions& options = {});

    virtual MpiTransportCounts counts() const = 0;

    // Gives the communicator back to a program that goes on with MPI. Collective: after settle() a rank sends
    // nothing more, and asks settled() until there is an answer. True: all that any rank sent has arrived
    // (and is dropped), and the communicator is freed with the transport. False: not so, since a rank gave
    // `well` as false, or has missed another; then nothing may be freed. All ranks have the same answer,
    // where MPI does not fail an operation of one of them at the very end. None comes before all ranks have
    // called settle(): where one is known to be lost, who gave `well` as false need not ask for ever.
    virtual void settle(bool well) = 0;
    virtual std::optional<bool> settled() = 0;
};

}  // namespace wq::transport

// The ranks of an MPI job as a Transport: a peer is a rank. MPI itself never reports a lost rank. So Left
// comes only for ranks of this node, whose processes are watched; for the others the caller notices missing
// heartbeats and calls close(). The first poll() reports all ranks as Joined.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "net/frames/transport.h"
#include "ranks/mpi/mpi_session.h"

namespace wq::ranks::mpi {

struct MpiTransportOptions {
    std::size_t receives = 64;           // posted in advance
    std::size_t most_outstanding = 256;  // fragments per rank that MPI holds at a time
};

struct MpiTransportCounts {
    std::uint64_t errors = 0;   // calls for which MPI returned an error
    std::uint64_t watched = 0;  // ranks of this node whose end is reported at once
};

class MpiTransport : public net::frames::Transport {
  public:
    // Collective. The session must outlive the transport and must have MPI; the transport reports lost ranks
    // to it.
    static Result<std::unique_ptr<MpiTransport>> open(MpiSession& session,
                                                      const MpiTransportOptions& options = {});

    virtual MpiTransportCounts counts() const = 0;

    // Returns the communicator to a program that continues with MPI. Collective: after settle() a rank sends
    // nothing more, and calls settled() until it answers. True: everything that any rank sent has arrived
    // (and is dropped); the communicator is freed with the transport. False: a rank passed `well` as false,
    // or lost another; then nothing may be freed. All ranks get the same answer, unless MPI fails an
    // operation of one of them at the very end. No answer comes before all ranks have called settle(): if a
    // rank is known to be lost, a rank that passed false need not ask forever.
    virtual void settle(bool well) = 0;
    virtual std::optional<bool> settled() = 0;
};

}  // namespace wq::ranks::mpi
